import { type DeadLetter, deadLetterRecord, type RawRecord } from '@tailrace/kafka-kit';
import { dlqTopics } from '../dlq-options.ts';
import type { ReadRanges } from '../dlq-read.ts';

const [found] = dlqTopics('indexer');
if (found === undefined) throw new Error('the indexer has no dead letters');
export const topic = found;
export const BEGIN_MS = Date.UTC(2026, 0, 31, 12);

/** A dead-letter topic of two partitions, whose first one begins at offset 10. */
export class Dlq {
  readonly #records: RawRecord[] = [];
  readonly #ends = [10, 0];

  add(partition: number, at: number, letter: Partial<DeadLetter> & { value: Buffer | null }, writtenMs?: number): void {
    const origin = { topic: 'service-events', incarnation: 'abcdefgh', partition, offset: at, timestampMs: BEGIN_MS };
    const whole = { group: 'indexer', reason: 'not-json', detail: 'd', origin, via: origin, attempts: 1, replays: 0, failedAtMs: BEGIN_MS };
    const { key, value, headers = [] } = deadLetterRecord({ ...whole, key: null, headers: [], ...letter }, 'x');
    this.addRaw(partition, { key, value, headers }, writtenMs);
  }

  addRaw(
    partition: number,
    parts: Pick<RawRecord, 'key' | 'value' | 'headers'>,
    timestampMs = BEGIN_MS + this.#records.length * 1000,
  ): void {
    const offset = this.#ends[partition] ?? 0;
    this.#ends[partition] = offset + 1;
    this.#records.push({ ...parts, topic: topic.topic, partition, offset, timestampMs });
  }

  readonly admin = {
    groupLag: async () =>
      this.#ends.map((logEnd, partition) => ({
        topic: '',
        partition,
        committed: null,
        logStart: partition === 0 ? 10 : 0,
        logEnd,
        lag: 0,
      })),
  };

  readonly read: ReadRanges = async function* (this: Dlq, ranges: Parameters<ReadRanges>[0]) {
    for (const { partition, from, to } of ranges)
      yield this.#records.filter((each) => each.partition === partition && each.offset >= from && each.offset < to);
  }.bind(this);
}

/** What a command printed. */
export interface Told {
  readonly code: number;
  readonly lines: readonly string[];
  readonly value: Record<string, unknown>;
}

/** Runs a command, and keeps what it prints. */
export async function told(command: (output: { result(value: object, lines: readonly string[]): void }) => Promise<number>): Promise<Told> {
  let lines: readonly string[] = [];
  let value = {};
  const code = await command({
    result: (given, printed) => {
      lines = printed;
      value = given;
    },
  });
  return { code, lines, value };
}
