import { mergeAll } from '../measures/merge.ts';
import type { Partial } from '../measures/partial.ts';
import type { Cell } from '../messages/message.ts';

/** One for each lane: to tell lanes apart takes no look at their names. */
export interface SourceName {
  readonly name: string;
}

/** What one lane counted in one pane. */
interface Part {
  /** Merging goes in the order of names, so that sums of fractions come out alike whatever came first. */
  readonly source: SourceName;
  offset: number;
  partial: Partial;
}

/** One pane of one group: a part for each source until it is sealed, and one partial for all of them from then on. */
export class Pane {
  brokerMs = Number.NEGATIVE_INFINITY;
  eventMs = Number.NEGATIVE_INFINITY;
  #parts: Part[] | undefined = [];
  #merged: Partial | undefined;

  /** Takes in a cumulative partial: of each source the one with the highest offset counts. Answers whether anything changed. */
  accept(source: SourceName, { offset, partial, brokerMs, eventMs }: Cell): boolean {
    if (this.#parts === undefined) return false;
    const known = partOf(this.#parts, source);
    if (known === undefined) this.#parts.push({ source, offset, partial });
    else if (offset > known.offset) {
      known.offset = offset;
      known.partial = partial;
    } else return false;
    if (brokerMs > this.brokerMs) this.brokerMs = brokerMs;
    if (eventMs > this.eventMs) this.eventMs = eventMs;
    this.#merged = undefined;
    return true;
  }

  get merged(): Partial | undefined {
    if (this.#merged === undefined && this.#parts !== undefined && this.#parts.length > 0) this.#merged = merged(this.#parts);
    return this.#merged;
  }

  get events(): number {
    return this.merged?.[1] ?? 0;
  }

  /** Makes one of all parts: what comes later is a repeat, or a zombie's. */
  seal(): void {
    if (this.#parts === undefined) return;
    this.#merged = this.merged;
    this.#parts = undefined;
  }
}

function partOf(parts: readonly Part[], source: SourceName): Part | undefined {
  for (let i = 0; i < parts.length; i++) if (parts[i]?.source === source) return parts[i];
  return undefined;
}

function merged(parts: Part[]): Partial | undefined {
  if (parts.length > 1) parts.sort((a, b) => (a.source.name < b.source.name ? -1 : 1));
  return mergeAll(parts.map(({ partial }) => partial));
}
