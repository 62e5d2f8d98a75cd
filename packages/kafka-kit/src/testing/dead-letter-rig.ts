import type { Outcome } from '../consume/contract.ts';
import type { DeadLetterHalt } from '../consume/dead-letters.ts';
import { createPublisher } from '../publish/publisher.ts';
import { type DeadLetter, readDeadLetter } from '../recover/dead-letter.ts';
import { MemoryProducer } from './memory-producer.ts';
import { GROUP, RuntimeRig, TOPIC } from './runtime-rig.ts';

const DLQ = `${TOPIC}.${GROUP}.dlq`;

export const DEAD: Outcome = { kind: 'dead', reason: 'not-json', cause: new Error('no brace', { cause: new Error('at 7') }) };

/** A rig whose members have a place for dead letters: a topic in memory, and a store for what it refuses. */
export class DeadLetterRig extends RuntimeRig {
  readonly producer = new MemoryProducer(this.cluster);
  readonly stored: { readonly letter: DeadLetter; readonly why: string }[] = [];
  /** While set, the store fails. */
  storeFault: Error | undefined;

  static async open(
    partitions = 1,
    settings: ConstructorParameters<typeof RuntimeRig>[1] = {},
    budget?: DeadLetterHalt,
  ): Promise<DeadLetterRig> {
    const rig = new DeadLetterRig(partitions, settings);
    rig.cluster.createTopic(DLQ, partitions);
    const opening = createPublisher({ producers: [rig.producer], maxInFlightBytes: 1_000_000, clock: rig.clock, log: () => {} });
    await rig.clock.advance(10);
    rig.deadLetters = {
      publisher: await opening,
      topic: (source) => `${source}.${GROUP}.dlq`,
      unsendable: async (letter, why) => {
        if (rig.storeFault !== undefined) throw rig.storeFault;
        rig.stored.push({ letter, why });
      },
      budget,
    };
    return rig;
  }

  /** What lies in the dead-letter topic; undefined for what is no dead letter. */
  buried(partition = 0): (DeadLetter | undefined)[] {
    return this.cluster.records({ topic: DLQ, partition }).map((record) => readDeadLetter(record));
  }

  /** Records that differ: of equal ones that were sent together, a failure of one counts for all. */
  appendDifferent(count: number): void {
    this.cluster.append(this.tp(), ...Array.from({ length: count }, (_, i) => ({ value: Buffer.from(`value ${i}`) })));
  }
}
