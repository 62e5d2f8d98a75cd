import { type SideTopic, sideTopicName } from '@tailrace/events';
import {
  backoffMs,
  type ConsumerRuntime,
  DEFAULT_BACKOFF,
  type RuntimeEvent,
  reasonsOf,
  runtimeHealth,
  systemClock,
} from '@tailrace/kafka-kit';
import type { Check } from '@tailrace/service';

const REPLAY: SideTopic = 'replay';

/** The name of the topic that brings a group's replayed records of `source`. */
export function replayTopic(source: string, group: string): string {
  return sideTopicName(source, group, REPLAY);
}

export interface ReplayConsumerOptions {
  /** Makes and starts a runtime, which tells `observe` what happens. */
  readonly open: (observe: (event: RuntimeEvent) => void) => Promise<ConsumerRuntime>;
  /** Told of a fault that ended a runtime, or kept one from starting. */
  readonly onFault: (sentence: string) => void;
}

/**
 * The consumer of replayed records, beside the one of live records in the same process: whatever becomes of it is told, and never stops that one.
 * A runtime that can not start or breaks is followed by another, with backoff.
 */
export class ReplayConsumer {
  readonly #options: ReplayConsumerOptions;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  #runtime: ConsumerRuntime | undefined;
  #fault: string | undefined;
  /** Why what was applied is not written down, while it is not. */
  #unkept: string | undefined;

  constructor(options: ReplayConsumerOptions) {
    this.#options = options;
    this.#ended = this.#run();
  }

  /** What the runtime of now says of its partitions. */
  lanes(): ReturnType<ConsumerRuntime['lanes']> {
    return this.#runtime?.lanes() ?? [];
  }

  /** Never worse than `degraded`: live records are indexed all the same. */
  health(servers: NonNullable<Parameters<typeof runtimeHealth>[1]>): Check {
    if (this.#fault !== undefined)
      return { state: 'degraded', sentence: `Replayed records wait, and their consumer is started again by itself: ${this.#fault}` };
    if (this.#runtime === undefined) return { state: 'ok', sentence: 'The consumer of replayed records is starting.' };
    const { state, sentence } = runtimeHealth(this.#runtime, servers);
    if (state === 'ok' && this.#unkept !== undefined)
      return { state: 'degraded', sentence: `Replayed records are indexed, and no receipt comes meanwhile: ${this.#unkept}` };
    return state === 'ok' ? { state, sentence } : { state: 'degraded', sentence: `Of replayed records: ${sentence}` };
  }

  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    await this.#runtime?.stop(withinMs);
    await this.#ended;
  }

  #see(event: RuntimeEvent): void {
    if (event.kind !== 'positions') return;
    if (event.outcome === 'not-written') this.#unkept = reasonsOf(event.cause);
    else if (event.outcome === 'written') this.#unkept = undefined;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let faults = 0; !signal.aborted; faults += 1) {
      try {
        const runtime = await this.#options.open((event) => this.#see(event));
        this.#runtime = runtime;
        this.#fault = undefined;
        // Asked to stop while it was opened: nobody else ends it.
        if (signal.aborted) await runtime.stop();
        await runtime.finished;
        return;
      } catch (fault) {
        this.#runtime = undefined;
        this.#fault = fault instanceof Error ? fault.message : String(fault);
        this.#options.onFault(this.#fault);
      }
      await systemClock.sleep(backoffMs(DEFAULT_BACKOFF, faults), signal);
    }
  }
}
