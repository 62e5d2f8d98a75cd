import type { Clock } from '@tailrace/kafka-kit';
import type { ChainId } from '@tailrace/lake';

export interface TopicLife {
  /** The topic's present incarnation, by a look-up begun after the call; undefined where there is no such topic. */
  readonly incarnation: (topic: string) => Promise<string | undefined>;
  readonly clock: Clock;
  /** How long a topic's changed id must last before it is believed. */
  readonly disbeliefMs: number;
}

/** Whether the life of the topic that the chain is of is over: two look-ups apart from each other give another id. */
export async function isOver({ incarnation, clock, disbeliefMs }: TopicLife, chain: ChainId): Promise<boolean> {
  if ((await incarnation(chain.topic)) === chain.incarnation) return false;
  await clock.sleep(disbeliefMs);
  return (await incarnation(chain.topic)) !== chain.incarnation;
}
