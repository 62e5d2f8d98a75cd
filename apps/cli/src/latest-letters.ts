import { replayGroupName } from '@tailrace/events';
import { type DeadLetter, type RawRecord, readDeadLetter } from '@tailrace/kafka-kit';
import type { DlqTopic } from './dlq-options.ts';

export interface Found {
  readonly record: RawRecord;
  readonly letter: DeadLetter;
}

/** What tells two letters of one record apart, in one number: more rounds beat fewer, and then the later letter the earlier one. */
const ROUND = 2 ** 48;
/** Beyond any number of rounds that is sent. Whoever may write to the topic may make up more. */
const MAX_ROUNDS = 15;

/**
 * Of each record the dead letter that counts: the one with the most rounds, of those the newest. A record has several when it died again after it was
 * brought back, when it was read again after a reset, and where a crash came between a dead letter and its commit. Costs 60 bytes of memory a record (measured on a million).
 */
export class LatestLetters {
  readonly #source: string;
  /** What died on the side channel names the group that reads that. */
  readonly #groups: readonly string[];
  /** By the life of the source's partition; then by the record's offset. */
  readonly #lives = new Map<string, Map<number, number>>();
  /** Letters of the group, and records that are none. */
  letters = 0;
  foreign = 0;

  constructor({ group, source }: DlqTopic) {
    this.#source = source;
    this.#groups = [group, replayGroupName(group)];
  }

  add(record: RawRecord): void {
    const letter = this.#letterOf(record);
    if (letter === undefined) {
      this.foreign += 1;
      return;
    }
    this.letters += 1;
    const life = lifeOf(letter);
    const offsets = this.#lives.get(life) ?? new Map<number, number>();
    this.#lives.set(life, offsets);
    const { offset } = letter.origin;
    offsets.set(offset, Math.max(offsets.get(offset) ?? -1, rank(letter, record)));
  }

  /** How many records have letters. */
  get records(): number {
    return [...this.#lives.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** The letters among these that count. */
  among(records: readonly RawRecord[]): readonly Found[] {
    return records.flatMap((record) => {
      const letter = this.#letterOf(record);
      if (letter === undefined || this.#lives.get(lifeOf(letter))?.get(letter.origin.offset) !== rank(letter, record)) return [];
      return [{ record, letter }];
    });
  }

  /** A dead letter stands in the partition of its source; what else is there somebody else wrote. */
  #letterOf(record: RawRecord): DeadLetter | undefined {
    const letter = readDeadLetter(record);
    if (letter === undefined || !this.#groups.includes(letter.group)) return undefined;
    const { topic, partition } = letter.origin;
    return topic === this.#source && partition === record.partition ? letter : undefined;
  }
}

function lifeOf({ origin: { incarnation, partition } }: DeadLetter): string {
  return `${incarnation}/${partition}`;
}

function rank({ replays }: DeadLetter, { offset }: RawRecord): number {
  return Math.min(replays, MAX_ROUNDS) * ROUND + offset;
}
