import { type Backoff, backoffMs, type OutgoingRecord, type Publisher } from '@tailrace/kafka-kit';
import { encodeCells, encodeMessage, partitionOf } from '../messages/codec.ts';
import type { Cell, LaneMark, RuleId } from '../messages/message.ts';

export interface PartialsTopicOptions {
  readonly topic: string;
  readonly partitions: number;
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly backoff: Backoff;
  /** Told of each try that left records without an acknowledgement. */
  readonly onRetry: (records: number, reason: string) => void;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

const DEADLINE_MS = 30_000;
/** Names and groups whose partition is remembered; above it all are forgotten. */
const MAX_REMEMBERED = 200_000;

/** Writes to the topic of partials until it is acknowledged: a cell that is written twice, or late, does no harm, since the highest offset wins. */
export class PartialsTopic {
  readonly #options: PartialsTopicOptions;
  readonly #partitions = new Map<string, Map<string, number>>();
  #remembered = 0;

  constructor(options: PartialsTopicOptions) {
    this.#options = options;
  }

  /** Resolves once every cell is acknowledged, however long that takes; rejects only when the signal aborts. */
  async cells(cells: readonly Cell[], signal: AbortSignal): Promise<void> {
    const byPartition = new Map<number, Cell[]>();
    for (const cell of cells) {
      const partition = this.#partitionOf(cell.rule.name, cell.group);
      const list = byPartition.get(partition);
      if (list === undefined) byPartition.set(partition, [cell]);
      else list.push(cell);
    }
    const { topic } = this.#options;
    const records: OutgoingRecord[] = [];
    for (const [partition, list] of byPartition)
      for (const value of encodeCells(list)) records.push({ topic, partition, key: null, value });
    await this.#publish(records, signal);
  }

  /** Tells every partition how far the lanes have read. Only behind the acknowledgement of the cells that the marks speak of. */
  async marks(rules: readonly RuleId[], marks: readonly LaneMark[], signal: AbortSignal): Promise<void> {
    const value = encodeMessage({ kind: 'marks', rules, marks });
    const { topic, partitions } = this.#options;
    await this.#publish(
      Array.from({ length: partitions }, (_, partition) => ({ topic, partition, key: null, value })),
      signal,
    );
  }

  async #publish(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<void> {
    const { publisher, backoff, onRetry, sleep } = this.#options;
    let open = records;
    for (let attempt = 1; open.length > 0; attempt++) {
      const fates = await publisher.publish(open, { deadlineMs: DEADLINE_MS });
      const failed = fates.flatMap((fate) => (fate.kind === 'acknowledged' ? [] : [fate.reason]));
      const sent = open;
      open = sent.filter((_, i) => fates[i]?.kind !== 'acknowledged');
      if (open.length === 0) return;
      onRetry(open.length, failed[0] ?? 'no answer');
      await sleep(backoffMs(backoff, attempt, Math.random), signal);
      if (signal.aborted) throw new Error('the publication was given up');
    }
  }

  #partitionOf(rule: string, group: string): number {
    let groups = this.#partitions.get(rule);
    if (groups === undefined) {
      groups = new Map();
      this.#partitions.set(rule, groups);
    }
    let partition = groups.get(group);
    if (partition === undefined) {
      partition = partitionOf(rule, group, this.#options.partitions);
      if (this.#remembered >= MAX_REMEMBERED) {
        this.#partitions.clear();
        this.#remembered = 0;
        groups = new Map();
        this.#partitions.set(rule, groups);
      }
      groups.set(group, partition);
      this.#remembered += 1;
    }
    return partition;
  }
}
