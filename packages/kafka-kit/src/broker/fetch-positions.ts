import { partitionKey, type TopicPartition } from '../records.ts';

/** How often the client tells its statistics. */
export const STATISTICS_MS = 4000;
/** The first report after an assign may have been written before it. */
const REPORTS = 2;

interface Statistics {
  readonly topics?: Readonly<Record<string, { readonly partitions?: Readonly<Record<string, { readonly next_offset?: number }>> }>>;
}

/** Where the client fetches next, by partition, as its statistics tell. */
export class FetchPositions {
  readonly #told = new Map<string, { reports: number; position: number }>();

  /** Takes one report. */
  report(json: string): void {
    const { topics = {} } = JSON.parse(json) as Statistics;
    for (const [topic, { partitions = {} }] of Object.entries(topics)) {
      for (const [partition, { next_offset: position = -1 }] of Object.entries(partitions)) {
        // Below 0 are logical offsets ("none", "end") and the statistics' own partition -1.
        if (position < 0 || Number(partition) < 0) continue;
        const key = partitionKey({ topic, partition: Number(partition) });
        this.#told.set(key, { reports: (this.#told.get(key)?.reports ?? 0) + 1, position });
      }
    }
  }

  forget(tp: TopicPartition): void {
    this.#told.delete(partitionKey(tp));
  }

  of(tp: TopicPartition): number | undefined {
    const told = this.#told.get(partitionKey(tp));
    return told !== undefined && told.reports >= REPORTS ? told.position : undefined;
  }
}
