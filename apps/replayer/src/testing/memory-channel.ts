import { type OutgoingRecord, type RawRecord, readChannelRecord, type SentPosition } from '@tailrace/kafka-kit';
import { sideKey } from '@tailrace/lake';
import type { ReplayChannel } from '../replay-channel.ts';
import { SentCount, type SentSoFar, sentBy } from '../sent-state.ts';

/** As an end of the process: nothing is tried again behind it. A TypeError, since those are never taken for faults of the moment. */
export class Killed extends TypeError {}

const POSITIONS = 'positions';

/** A side channel and the sender's records in memory, for tests of the sender. It outlives the senders that write into it. */
export class MemoryChannel {
  readonly logs = new Map<string, RawRecord[]>();
  /** By the plan's mark and the partition. */
  readonly sent = new Map<string, SentPosition>();

  /** Of the side topic, for who sees it from now on. */
  incarnation = 'sideLife';

  constructor(topic: string, partitions: number) {
    for (let partition = 0; partition < partitions; partition++) this.logs.set(sideKey(topic, partition), []);
  }

  /** As one process sees it. `step` is awaited at every call: to kill that process there. `cut`: how much of a call got through when it was killed in it. */
  seenBy(step: () => Promise<void>, cut: (records: number) => number): ReplayChannel {
    const { incarnation } = this;
    return {
      consumer: 'indexer',
      group: 'indexer.replay',
      topicOf: (topic) => `${topic}.side`,
      incarnationOf: () => incarnation,
      publish: async (records) => {
        try {
          await step();
        } catch (killed) {
          this.#append(records.slice(0, cut(records.length)));
          throw killed;
        }
        this.#append(records);
        // The acknowledgement may get lost with the process.
        await step();
      },
      ends: async () => {
        await step();
        return new Map([...this.logs].map(([key, records]) => [key, records.length]));
      },
      read: (topic, partition, from, to) => this.#read(step, sideKey(topic, partition), from, to),
    };
  }

  /** The topic is deleted and made anew. */
  makeAnew(): void {
    this.incarnation = 'lifeTwo2';
    for (const key of this.logs.keys()) this.logs.set(key, []);
  }

  /** What a consumer counts of the plan with this mark that takes each origin offset once, in the order of the log. */
  counted(mark: string, key: string): SentSoFar & { readonly offsets: readonly number[] } {
    const count = new SentCount({ through: -1, records: 0, bytes: 0, checksum: '0'.repeat(16) });
    const offsets: number[] = [];
    for (const record of this.logs.get(key) ?? []) {
      const origin = sentBy(mark, record);
      if (origin !== undefined && count.add(origin)) offsets.push(origin.offset);
    }
    return { ...count.now, offsets };
  }

  async *#read(step: () => Promise<void>, key: string, from: number, to: number): AsyncGenerator<readonly RawRecord[]> {
    await step();
    yield (this.logs.get(key) ?? []).slice(from, to);
  }

  #append(records: readonly OutgoingRecord[]): void {
    for (const { topic, partition = 0, key, value, headers = [] } of records) {
      if (topic === POSITIONS) {
        const said = readChannelRecord({ key, value });
        if (said.kind === 'sent') this.sent.set(`${said.sent.plan} ${sideKey(said.sent.topic, said.sent.partition)}`, said.sent);
        continue;
      }
      const log = this.logs.get(sideKey(topic, partition));
      log?.push({ topic, partition, offset: log.length, timestampMs: 0, key, value, headers });
    }
  }
}
