import { eventKind } from '@tailrace/events';
import { type Batch, type Coordinates, type Outcome, type Sink, STORED } from '@tailrace/kafka-kit';
import { buildBulk } from './bulk-body.ts';
import { type DailyIndices, dayOf, firstDayKept, indexOfDay } from './daily-indices.ts';
import { type BadValue, writeDocument, writeFallback } from './document.ts';
import type { IncarnationGate } from './incarnation-gate.ts';
import type { SearchClient } from './search-client.ts';
import { type ItemAnswer, sendBulk } from './send-bulk.ts';

export interface IndexSinkOptions {
  /** The alias, and what the daily indices' names begin with. */
  readonly indexName: string;
  /** Records of a day further back than this are skipped. */
  readonly retentionDays: number;
  readonly maxBulkBytes: number;
}

export interface IndexSinkPorts {
  readonly client: SearchClient;
  readonly indices: DailyIndices;
  readonly incarnations: IncarnationGate;
  readonly nowMs: () => number;
  /** Told of every event that OpenSearch refused as it is, and that is indexed by its typed fields instead. */
  readonly onFallback?: (detail: string) => void;
}

interface Target {
  readonly record: number;
  readonly index: string;
  readonly origin: Coordinates;
}

const BEYOND_RETENTION: Outcome = { kind: 'skipped', reason: 'beyond-retention' };
const UNKNOWN_TYPE: Outcome = { kind: 'skipped', reason: 'unknown-type' };
const NEWER_MAJOR: Outcome = { kind: 'skipped', reason: 'newer-major' };

/**
 * Writes records to the index of their origin's broker day, under their origin's id: both are functions of the coordinates alone,
 * so a batch that is handed over again writes the same documents again.
 */
export class IndexSink implements Sink {
  readonly name = 'opensearch';
  readonly #options: IndexSinkOptions;
  readonly #ports: IndexSinkPorts;

  constructor(options: IndexSinkOptions, ports: IndexSinkPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  async write(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    const outcomes = new Array<Outcome | undefined>(batch.length).fill(undefined);
    const targets = this.#sortOut(batch, outcomes);
    const bulk = buildBulk(
      batch,
      targets,
      () => writeDocument,
      (record, bad) => {
        outcomes[record] = dead(bad);
      },
    );
    if (bulk.items.length > 0) {
      const { client, indices, incarnations } = this.#ports;
      await incarnations.confirm(batch.source);
      await indices.ensure(bulk.items.map((item) => item.index));
      const answers = await sendBulk(client, bulk, this.#options.maxBulkBytes, signal);
      const refused = this.#settle(answers, outcomes);
      if (refused.size > 0) await this.#writeFallbacks(batch, targets, refused, outcomes, signal);
    }
    return outcomes.map((outcome, record) => {
      // A record without an outcome would be passed over in silence: better the whole batch again.
      if (outcome === undefined) throw new Error(`record ${record} of ${batch.length} got no outcome`);
      return outcome;
    });
  }

  /** Settles what is not to be indexed, and says where the rest belongs. */
  #sortOut(batch: Batch, outcomes: (Outcome | undefined)[]): Target[] {
    const firstDay = firstDayKept(this.#ports.nowMs(), this.#options.retentionDays);
    const targets: Target[] = [];
    let day = Number.NaN;
    let index = '';
    for (let record = 0; record < batch.length; record++) {
      const origin = batch.origin(record);
      const kind = eventKind(batch.headers(record));
      if (kind === 'unknown-type') outcomes[record] = UNKNOWN_TYPE;
      else if (kind === 'newer-major') outcomes[record] = NEWER_MAJOR;
      else if (dayOf(origin.timestampMs) < firstDay) outcomes[record] = BEYOND_RETENTION;
      else {
        // Records come in runs of one day.
        if (dayOf(origin.timestampMs) !== day) {
          day = dayOf(origin.timestampMs);
          index = indexOfDay(this.#options.indexName, day);
        }
        targets.push({ record, index, origin });
      }
    }
    return targets;
  }

  /** Gives every item its outcome, except those that OpenSearch refused as they are. */
  #settle(answers: readonly ItemAnswer[], outcomes: (Outcome | undefined)[]): Map<number, string> {
    const refused = new Map<number, string>();
    for (const { item, meaning, detail } of answers) {
      if (meaning === 'stored') outcomes[item.record] = STORED;
      else if (meaning === 'refused') refused.set(item.record, detail);
      else if (meaning === 'dead') outcomes[item.record] = { kind: 'dead', reason: 'refused', cause: detail };
      else {
        if (meaning === 'missing-index') this.#ports.indices.forget(item.index);
        outcomes[item.record] = { kind: 'retry', reason: meaning === 'retry' ? 'shard' : meaning, cause: detail };
      }
    }
    return refused;
  }

  /** A second bulk with the typed fields of what was refused. What is refused again is dead. */
  async #writeFallbacks(
    batch: Batch,
    targets: readonly Target[],
    refused: ReadonlyMap<number, string>,
    outcomes: (Outcome | undefined)[],
    signal: AbortSignal,
  ): Promise<void> {
    const bulk = buildBulk(
      batch,
      targets.filter(({ record }) => refused.has(record)),
      (record) => (value, out) => writeFallback(value, refused.get(record) ?? '', out),
      (record, bad) => {
        outcomes[record] = dead(bad, refused.get(record));
      },
    );
    const answers = await sendBulk(this.#ports.client, bulk, this.#options.maxBulkBytes, signal);
    for (const [record, detail] of this.#settle(answers, outcomes)) outcomes[record] = { kind: 'dead', reason: 'refused', cause: detail };
    for (const { item, meaning } of answers) if (meaning === 'stored') this.#ports.onFallback?.(refused.get(item.record) ?? '');
  }
}

function dead(bad: BadValue, refusal?: string): Outcome {
  return { kind: 'dead', reason: bad.reason, cause: refusal === undefined ? bad.detail : `${bad.detail}; ${refusal}` };
}
