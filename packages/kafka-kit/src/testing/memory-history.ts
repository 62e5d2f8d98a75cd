import type { TopicPartition } from '../records.ts';
import { HistoryHole, type HistoryPart, type HistoryRecord, type RecordHistory } from '../recover/record-history.ts';
import type { Clock } from '../time/clock.ts';

/** What a history has of an offset: a record, or that there is none, and why; `hole`: neither. */
export type Kept = HistoryRecord | 'void' | 'lost' | 'before-archive' | 'hole';

/** A history in memory, offset by offset, and what goes wrong with it. */
export class MemoryHistory implements RecordHistory {
  readonly #clock: Clock;
  readonly #kept = new Map<number, Kept[]>();
  /** Records of a part at most. */
  partRecords = 7;
  /** How long a part takes. */
  readMs = 1;
  /** While true it hears of no abort, as a store that is in the middle of a request. */
  deaf = false;
  /** Called before each part; a throw is the reading's. */
  fault: ((at: number) => void) | undefined;
  /** Every reading that was begun: the partition and where. */
  readonly readings: { readonly partition: number; readonly from: number }[] = [];
  /** Readings that have not ended. */
  open = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is kept of a partition, from offset 0 on. A test changes it. */
  of({ partition }: Pick<TopicPartition, 'partition'>): Kept[] {
    const kept = this.#kept.get(partition) ?? [];
    this.#kept.set(partition, kept);
    return kept;
  }

  /** Keeps all that a log holds up to `end`, as an archiver would: voids are declared. */
  archive(log: TopicPartition & { all(): readonly HistoryRecord[] }, end: number): void {
    const kept = this.of(log);
    const records = new Map(log.all().map((record) => [record.offset, record]));
    for (let offset = kept.length; offset < end; offset += 1) kept.push(records.get(offset) ?? 'void');
  }

  async *read(
    of: TopicPartition & { readonly incarnation: string },
    from: number,
    to: number,
    signal: AbortSignal,
  ): AsyncIterable<HistoryPart> {
    this.readings.push({ partition: of.partition, from });
    this.open += 1;
    try {
      for (let at = from; ; ) {
        await this.#clock.sleep(this.readMs, this.deaf ? undefined : signal);
        if (!this.deaf) signal.throwIfAborted();
        this.fault?.(at);
        const kept = this.of(of);
        if (at >= Math.min(to, kept.length)) return;
        const part = partAt(of, kept, at, Math.min(to, kept.length), this.partRecords);
        at = part.kind === 'records' ? at + part.records.length : part.to;
        yield part;
      }
    } finally {
      this.open -= 1;
    }
  }
}

function partAt(of: TopicPartition, kept: readonly Kept[], from: number, end: number, most: number): HistoryPart {
  const first = kept[from];
  let to = from;
  if (typeof first === 'string') {
    while (to < end && kept[to] === first) to += 1;
    if (first === 'hole') throw new HistoryHole(of, from, to, 'nobody declared them');
    return { kind: first, from, to };
  }
  const records: HistoryRecord[] = [];
  for (; to < end && records.length < most; to += 1) {
    const each = kept[to];
    if (each === undefined || typeof each === 'string') break;
    records.push(each);
  }
  return { kind: 'records', records };
}
