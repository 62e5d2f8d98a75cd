import { eventKind } from '@tailrace/events';
import { type Batch, isCalendarTime, type Outcome, type Sink, STORED, StandsStill } from '@tailrace/kafka-kit';
import { BulkBody, ITEM_EXTRA_BYTES, type NoDocument } from './bulk-body.ts';
import { BulkTurns } from './bulk-turns.ts';
import type { DailyIndices } from './daily-indices.ts';
import { badTime, unbuildable, writeDocument, writeFallback } from './document.ts';
import type { IncarnationGate } from './incarnation-gate.ts';
import { dayOf, firstDayKept, indexOfDay } from './index-names.ts';
import { expiryOf, keepDaysOf } from './kept-days.ts';
import { type ParsedRecord, type Parser, parsed } from './parser.ts';
import type { SearchClient } from './search-client.ts';
import { sendBulk } from './send-bulk.ts';
import { unlessGivenUp } from './unless-given-up.ts';

export interface IndexSinkOptions {
  /** The alias, and what the daily indices' names begin with. */
  readonly indexName: string;
  /** Records of a day further back than this are skipped, unless a note of theirs says to keep them. */
  readonly retentionDays: number;
  readonly maxBulkBytes: number;
  /** Bulks on their way at a time, over all partitions. */
  readonly bulksAtOnce: number;
}

export interface IndexSinkPorts {
  readonly client: SearchClient;
  readonly indices: DailyIndices;
  readonly incarnations: IncarnationGate;
  readonly nowMs: () => number;
  /** Makes events of records of another format. */
  readonly parser?: Parser | undefined;
  /** Told of every event that OpenSearch refused as it is, and that is indexed by its typed fields instead. */
  readonly onFallback?: (detail: string) => void;
}

/** Until when the indices of a batch beyond retention are kept, by their names. */
type Expiries = Map<string, number>;

/** What OpenSearch said of the items that it refused as they are, by their record. */
type Refused = Map<number, string>;

const BEYOND_RETENTION: Outcome = { kind: 'skipped', reason: 'beyond-retention' };
const UNKNOWN_TYPE = { kind: 'skipped', reason: 'unknown-type' } as const;
const NEWER_MAJOR = { kind: 'skipped', reason: 'newer-major' } as const;

/**
 * Writes records to the index of their origin's broker day, under their origin's id: both are functions of the coordinates alone,
 * so a batch that is handed over again writes the same documents again.
 */
export class IndexSink implements Sink {
  readonly name = 'opensearch';
  readonly #options: IndexSinkOptions;
  readonly #ports: IndexSinkPorts;
  readonly #idle: BulkBody[] = [];
  readonly #turns: BulkTurns;

  constructor(options: IndexSinkOptions, ports: IndexSinkPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#turns = new BulkTurns(options.bulksAtOnce);
  }

  async write(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    const end = await this.#turns.take(signal);
    try {
      return await this.#writeNow(batch, signal);
    } finally {
      end();
    }
  }

  async #writeNow(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    const outcomes = new Array<Outcome | undefined>(batch.length).fill(undefined);
    const bulk = this.#idle.pop() ?? new BulkBody(batch.bytes + ITEM_EXTRA_BYTES * batch.length);
    const expiries = this.#build(batch, bulk, outcomes);
    if (bulk.length > 0) {
      await unlessGivenUp(signal, this.#ports.incarnations.confirm(batch.source));
      const refused = await this.#send(bulk, expiries, outcomes, signal);
      if (refused.size > 0) await this.#sendFallbacks(batch, { bulk, refused, expiries }, outcomes, signal);
    }
    // Only now: a body whose request failed may still be on its way into a socket.
    this.#giveBack(bulk);
    // A record without an outcome would be passed over in silence: better the whole batch again.
    if (outcomes.includes(undefined)) throw new Error(`record ${outcomes.indexOf(undefined)} of ${batch.length} got no outcome`);
    return outcomes as readonly Outcome[];
  }

  /** Fills the bulk with what is to be indexed; what is not gets its outcome. */
  #build(batch: Batch, bulk: BulkBody, outcomes: (Outcome | undefined)[]): Expiries {
    const nowMs = this.#ports.nowMs();
    const firstDay = firstDayKept(nowMs, this.#options.retentionDays);
    const expiries: Expiries = new Map();
    const indexOf = indexFinder(this.#options.indexName);
    for (let record = 0; record < batch.length; record++) {
      try {
        const origin = batch.origin(record);
        const event = this.#eventOf(batch, record);
        if (event.kind === 'skipped') outcomes[record] = event;
        else if (event.kind === 'dead') outcomes[record] = { kind: 'dead', reason: event.reason, cause: event.detail };
        else if (!isCalendarTime(origin.timestampMs)) outcomes[record] = unindexed(badTime(origin.timestampMs));
        else {
          const index = indexOf(origin.timestampMs);
          if (origin.timestampMs < firstDay) {
            const days = keepDaysOf(batch.notes(record));
            if (days === undefined) {
              outcomes[record] = BEYOND_RETENTION;
              continue;
            }
            expiries.set(index, Math.max(expiries.get(index) ?? 0, expiryOf(nowMs, days)));
          }
          const no = bulk.add(record, index, origin, event.value, writeDocument);
          if (no !== undefined) outcomes[record] = unindexed(no);
        }
      } catch (fault) {
        if (fault instanceof StandsStill) throw fault;
        outcomes[record] = unindexed(unbuildable(fault));
      }
    }
    return expiries;
  }

  /** The event that a record holds. A parser's word counts for every record, whatever its headers say: it gets them too. */
  #eventOf(batch: Batch, record: number): ParsedRecord {
    const { parser } = this.#ports;
    const headers = batch.headers(record);
    const value = batch.value(record);
    if (parser !== undefined) return parsed(parser, { key: batch.key(record), value, headers });
    const kind = eventKind(headers);
    if (kind === 'unknown-type') return UNKNOWN_TYPE;
    return kind === 'newer-major' ? NEWER_MAJOR : { kind: 'event', value };
  }

  /** Keeps a bulk's memory for the next one: fresh memory costs more than what is written into it, and makes garbage collections. */
  #giveBack(bulk: BulkBody): void {
    if (this.#idle.length >= this.#options.bulksAtOnce) return;
    bulk.clear();
    this.#idle.push(bulk);
  }

  /** Sends a bulk and gives its records their outcomes, except those that our own index refused as they are. */
  async #send(bulk: BulkBody, expiries: Expiries, outcomes: (Outcome | undefined)[], signal: AbortSignal): Promise<Refused> {
    const { client, indices } = this.#ports;
    await unlessGivenUp(signal, indices.ensure(bulk.distinctIndices(), expiries));
    const refused: Refused = new Map();
    await sendBulk(client, bulk, this.#options.maxBulkBytes, signal, (item, meaning, detail) => {
      const record = bulk.record(item);
      if (meaning === 'stored') outcomes[record] = STORED;
      else if (meaning === 'refused') refused.set(record, detail);
      else if (meaning === 'dead') outcomes[record] = { kind: 'dead', reason: 'refused', cause: detail };
      else {
        if (meaning === 'missing-index') indices.forget(bulk.index(item));
        outcomes[record] = { kind: 'retry', reason: meaning === 'retry' ? 'shard' : meaning, cause: detail };
      }
    });
    // An index that is not ours refuses good documents: only behind this is it the document's fault.
    if (refused.size > 0) await unlessGivenUp(signal, indices.confirm(bulk.distinctIndices(), expiries));
    return refused;
  }

  /** A second bulk with the typed fields of what was refused. What is refused again is dead. */
  async #sendFallbacks(
    batch: Batch,
    { bulk: first, refused, expiries }: { readonly bulk: BulkBody; readonly refused: Refused; readonly expiries: Expiries },
    outcomes: (Outcome | undefined)[],
    signal: AbortSignal,
  ): Promise<void> {
    const bulk = new BulkBody(ITEM_EXTRA_BYTES * refused.size);
    for (let item = 0; item < first.length; item++) {
      const record = first.record(item);
      const refusal = refused.get(record);
      if (refusal === undefined) continue;
      try {
        const event = this.#eventOf(batch, record);
        if (event.kind !== 'event') throw new Error('INDEXER_PARSER answered differently for the same record');
        const no = bulk.add(record, first.index(item), batch.origin(record), event.value, (value, out) =>
          writeFallback(value, refusal, out),
        );
        if (no !== undefined) outcomes[record] = unindexed(no, refusal);
      } catch (fault) {
        outcomes[record] = unindexed(unbuildable(fault), refusal);
      }
    }
    const again = await this.#send(bulk, expiries, outcomes, signal);
    for (const [record, detail] of again) outcomes[record] = { kind: 'dead', reason: 'refused', cause: detail };
    for (const [record, detail] of refused) if (outcomes[record] === STORED) this.#ports.onFallback?.(detail);
  }
}

/** Finds the index of a time. Records come in runs of one day. */
function indexFinder(name: string): (timeMs: number) => string {
  let day = Number.NaN;
  let index = '';
  return (timeMs) => {
    const dayMs = dayOf(timeMs);
    if (dayMs !== day) {
      index = indexOfDay(name, dayMs);
      day = dayMs;
    }
    return index;
  };
}

function unindexed(no: NoDocument, refusal?: string): Outcome {
  if ('kind' in no) return no;
  return { kind: 'dead', reason: no.reason, cause: refusal === undefined ? no.detail : `${no.detail}; ${refusal}` };
}
