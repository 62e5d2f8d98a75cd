import type { Problem } from '@tailrace/events';

/** Why one event was not taken. `line` is its line in NDJSON or its place in the array, from 1; `field` is null for the whole event. */
export interface Rejection {
  readonly line: number;
  readonly field: string | null;
  readonly reason: string;
}

/** An answer lists this many rejected events and counts the rest: it must not grow with a hostile body. */
const MAX_LISTED = 100;

/** The events of one post that were not taken: all are counted, the first ones are listed. */
export class Rejections {
  readonly #kept: Rejection[] = [];
  readonly #countByReason = new Map<string, number>();
  #count = 0;
  #tooLarge = 0;
  #unreadable = 0;

  get count(): number {
    return this.#count;
  }

  /** How many of them were too large. */
  get tooLarge(): number {
    return this.#tooLarge;
  }

  /** How many of them were no JSON object at all. */
  get unreadable(): number {
    return this.#unreadable;
  }

  /** By line, at most `MAX_LISTED`. */
  get listed(): readonly Rejection[] {
    return this.#kept.toSorted((a, b) => a.line - b.line);
  }

  /** Counts by a word for the reason, out of a bounded set, for the metrics. */
  get countByReason(): ReadonlyMap<string, number> {
    return this.#countByReason;
  }

  addInvalid(line: number, { field, reason }: Problem): void {
    if (field === null) this.#unreadable++;
    this.#add({ line, field, reason }, field ?? reason);
  }

  addTooLarge(line: number, reason: string): void {
    this.#tooLarge++;
    this.#add({ line, field: null, reason }, 'too large');
  }

  /** Kafka refused the record; its own words go to the client but are not bounded enough for a metric. */
  addRefused(line: number, reason: string): void {
    this.#add({ line, field: null, reason: `was refused by Kafka: ${reason}` }, 'refused by Kafka');
  }

  #add(rejection: Rejection, word: string): void {
    this.#count++;
    this.#countByReason.set(word, (this.#countByReason.get(word) ?? 0) + 1);
    if (this.#kept.length < MAX_LISTED) this.#kept.push(rejection);
  }
}
