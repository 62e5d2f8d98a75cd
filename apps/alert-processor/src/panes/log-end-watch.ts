import { type ClusterAdmin, partitionKey, type TopicPartition } from '@tailrace/kafka-kit';

/** Looks up where logs end, beside whoever asks: one look-up at a time, and the last answer is kept. */
export class LogEndWatch {
  readonly #admin: Pick<ClusterAdmin, 'logEnds'>;
  readonly #nowMs: () => number;
  readonly #onFault: (fault: unknown) => void;
  #last: { readonly begunMs: number; readonly ends: ReadonlyMap<string, number> } | undefined;
  #running = false;

  constructor(admin: Pick<ClusterAdmin, 'logEnds'>, nowMs: () => number, onFault: (fault: unknown) => void) {
    this.#admin = admin;
    this.#nowMs = nowMs;
    this.#onFault = onFault;
  }

  /** Begins a look-up, unless one is under way. */
  look(partitions: readonly TopicPartition[]): void {
    if (this.#running || partitions.length === 0) return;
    this.#running = true;
    const begunMs = this.#nowMs();
    void this.#admin
      .logEnds(partitions)
      .then(
        (ends) => {
          this.#last = { begunMs, ends };
        },
        // Safe: without an answer time stands still, which is what is known then.
        (fault: unknown) => this.#onFault(fault),
      )
      .finally(() => {
        this.#running = false;
      });
  }

  /** The last answer about a partition, with the time at which it was asked for. */
  of(partition: TopicPartition): { readonly end: number; readonly begunMs: number } | undefined {
    const end = this.#last?.ends.get(partitionKey(partition));
    return end === undefined || this.#last === undefined ? undefined : { end, begunMs: this.#last.begunMs };
  }
}
