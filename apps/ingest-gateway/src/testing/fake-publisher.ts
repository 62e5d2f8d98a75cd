import type { OutgoingRecord, Published, Publisher } from '@tailrace/kafka-kit';

/** A publisher that keeps what it is given and tells the fates that the test wants. */
export class FakePublisher implements Publisher {
  readonly published: OutgoingRecord[] = [];
  publishCalls = 0;
  inFlightBytes = 0;
  maxInFlightBytes = 1_000_000_000;
  reachable = true;
  fateOf: (record: OutgoingRecord) => Published = () => ({ kind: 'acknowledged' });
  /** Awaited before the fates are told. */
  held: Promise<void> = Promise.resolve();

  async publish(records: readonly OutgoingRecord[], _options: { readonly deadlineMs: number }): Promise<readonly Published[]> {
    this.publishCalls++;
    await this.held;
    const fates = records.map((record) => this.fateOf(record));
    this.published.push(...records.filter((_, i) => fates[i]?.kind === 'acknowledged'));
    return fates;
  }

  async close(): Promise<void> {}
}
