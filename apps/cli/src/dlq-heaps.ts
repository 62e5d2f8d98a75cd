import { likelyService } from '@tailrace/events';
import { type DeadLetter, isoTime, type RawRecord } from '@tailrace/kafka-kit';
import { printable } from '@tailrace/service';
import type { Place } from './dlq-options.ts';

/** Dead letters of one reason and one service. */
export interface Heap {
  readonly reason: string;
  /** Null where the value does not say. */
  readonly service: string | null;
  readonly records: number;
  readonly oldest: string;
  readonly newest: string;
  /** The newest: what `dlq show --at` takes. */
  readonly example: Place;
}

/** A heap while it is counted. */
interface Count extends Pick<Heap, 'reason' | 'service'> {
  records: number;
  oldestMs: number;
  newestMs: number;
  example: Place;
}

/** Reasons and services are told apart up to so many: a service's name may be made up anew for each event. */
export const MAX_HEAPS = 1000;
const MAX_LINES = 40;

/** Counts dead letters by reason and service. */
export class Heaps {
  readonly #heaps = new Map<string, Count>();
  #oldestMs = Number.POSITIVE_INFINITY;
  #newestMs = Number.NEGATIVE_INFINITY;
  #records = 0;
  others = 0;

  add({ reason, value }: DeadLetter, { timestampMs, partition, offset }: RawRecord): void {
    this.#records += 1;
    this.#oldestMs = Math.min(this.#oldestMs, timestampMs);
    this.#newestMs = Math.max(this.#newestMs, timestampMs);
    const service = likelyService(value) ?? null;
    const key = JSON.stringify([reason, service]);
    const heap = this.#heaps.get(key);
    if (heap === undefined && this.#heaps.size >= MAX_HEAPS) this.others += 1;
    else if (heap === undefined) {
      this.#heaps.set(key, { reason, service, records: 1, oldestMs: timestampMs, newestMs: timestampMs, example: { partition, offset } });
    } else {
      heap.records += 1;
      // Partitions come one through another.
      heap.oldestMs = Math.min(heap.oldestMs, timestampMs);
      if (timestampMs >= heap.newestMs) Object.assign(heap, { newestMs: timestampMs, example: { partition, offset } });
    }
  }

  totals() {
    const known = this.#records > 0;
    return {
      deadLetters: this.#records,
      oldest: known ? isoTime(this.#oldestMs) : null,
      newest: known ? isoTime(this.#newestMs) : null,
    };
  }

  largestFirst(): Heap[] {
    return [...this.#heaps.values()]
      .sort((a, b) => b.records - a.records)
      .map(({ reason, service, records, oldestMs, newestMs, example }) => ({
        reason,
        service,
        records,
        oldest: isoTime(oldestMs),
        newest: isoTime(newestMs),
        example,
      }));
  }
}

/** A table of the largest heaps; `others`: what is in none of them. */
export function heapLines(heaps: readonly Heap[], others: number): string[] {
  const shown = heaps.slice(0, MAX_LINES);
  const rest = heaps.slice(MAX_LINES).reduce((sum, { records }) => sum + records, 0) + others;
  return [
    ...columns([
      ['records', 'reason', 'service', 'newest', 'show --at'],
      ...shown.map((heap) => [
        String(heap.records),
        printable(heap.reason),
        heap.service === null ? '(not known)' : printable(heap.service),
        heap.newest,
        `${heap.example.partition}/${heap.example.offset}`,
      ]),
    ]),
    ...(rest === 0 ? [] : [`  and ${counted(rest)} of other reasons and services: narrow it with --reason or --source`]),
  ];
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')}`.trimEnd());
}

export function counted(records: number): string {
  return `${records} dead ${records === 1 ? 'letter' : 'letters'}`;
}
