import { crc32 } from 'node:zlib';
import type { RawRecord } from '@tailrace/kafka-kit';
import type { ChainId, LakeRecord } from '@tailrace/lake';
import { kafkaSettings, LAKE, type ServerEndpoints, s3Settings, TOPIC } from '../pipeline/endpoints.ts';
import { Findings } from '../proof/findings.ts';
import { type DocumentPlace, walkDocuments } from '../proof/index-documents.ts';
import { type LogExtent, walkLog } from '../proof/kafka-log.ts';
import { walkLake } from '../proof/lake-rows.ts';
import { numberIn } from './feed.ts';

/** What a census of all three found. */
export interface Census {
  readonly records: number;
  readonly documents: number;
  readonly rows: number;
  readonly objects: number;
  readonly lakeBytes: number;
  /** One line for each kind of fault, with how many and a few places. Empty when nothing was lost, doubled, changed or reordered. */
  readonly findings: readonly string[];
}

/** The three that are counted, each as something that shows all that it holds. */
export interface Sources {
  readonly log: (
    begin: (extent: LogExtent) => (record: Pick<RawRecord, 'partition' | 'offset' | 'key' | 'value'>) => void,
  ) => Promise<unknown>;
  readonly index: (visit: (document: DocumentPlace) => void) => Promise<void>;
  readonly lake: (
    visit: (chain: Pick<ChainId, 'incarnation' | 'partition'>, row: Pick<LakeRecord, 'offset' | 'key' | 'value'>) => void,
  ) => Promise<{ readonly objects: number; readonly bytes: number }>;
}

/** Kafka, the index and the lake behind these endpoints. */
export function sourcesAt(endpoints: ServerEndpoints): Sources {
  return {
    log: (begin) => walkLog(kafkaSettings(endpoints), TOPIC, begin),
    index: (visit) => walkDocuments(endpoints.opensearchUrl, TOPIC, visit),
    lake: (visit) => walkLake(s3Settings(endpoints), LAKE, visit),
  };
}

/**
 * One number and one checksum for each offset: eight bytes a record, whatever a record holds. Order per key is looked at on the way, since
 * the feed numbers its events upwards and a key stays in its partition.
 */
class Log {
  readonly incarnation: string;
  readonly numbers: readonly Uint32Array[];
  readonly checksums: readonly Uint32Array[];

  constructor({ incarnation, ends }: LogExtent) {
    this.incarnation = incarnation;
    this.numbers = ends.map((end) => new Uint32Array(end));
    this.checksums = ends.map((end) => new Uint32Array(end));
  }

  get records(): number {
    return this.numbers.reduce((sum, { length }) => sum + length, 0);
  }

  number(partition: number, offset: number): number | undefined {
    return this.numbers[partition]?.[offset];
  }
}

/** The last number of each key, to see whether they rise. */
class KeyOrder {
  readonly #last = new Map<string, number>();

  /** Whether the number lies above the last one of its key. */
  rises(key: Buffer | null, number: number): boolean {
    const name = key?.toString('latin1') ?? '';
    const rises = number > (this.#last.get(name) ?? 0);
    this.#last.set(name, number);
    return rises;
  }
}

/** Counts Kafka, the index and the lake record by record, and holds them against each other and against how many the feed wrote. */
export async function takeCensus(sources: Sources, written: number): Promise<Census> {
  const findings = new Findings();
  const log = await censusOfLog(sources, written, findings);
  const documents = await censusOfIndex(sources, log, findings);
  const { rows, objects, bytes } = await censusOfLake(sources, log, findings);
  return { records: log.records, documents, rows, objects, lakeBytes: bytes, findings: findings.lines };
}

async function censusOfLog(sources: Sources, written: number, findings: Findings): Promise<Log> {
  const times = new Uint8Array(written + 1);
  const order = new KeyOrder();
  let log: Log | undefined;
  await sources.log((extent) => {
    const made = new Log(extent);
    log = made;
    return ({ partition, offset, key, value }) => {
      const number = value === null ? 0 : numberIn(value);
      const own = made.numbers[partition];
      const sums = made.checksums[partition];
      if (own === undefined || sums === undefined || value === null || number < 1 || number > written) {
        findings.add('records in Kafka that the feed did not write', `${partition}/${offset}`);
        return;
      }
      own[offset] = number;
      sums[offset] = crc32(value);
      times[number] = (times[number] ?? 0) + 1;
      if (!order.rises(key, number)) findings.add('records of a key out of order in Kafka', `${partition}/${offset}`);
    };
  });
  if (log === undefined) throw new Error('the topic was not read');
  for (let number = 1; number <= written; number++) {
    if (times[number] === 0) findings.add('written events without a record in Kafka', number);
    else if (times[number] !== 1) findings.add('events with more than one record in Kafka', number);
  }
  return log;
}

async function censusOfIndex(sources: Sources, log: Log, findings: Findings): Promise<number> {
  const seen = log.numbers.map(({ length }) => new Uint8Array(length));
  let documents = 0;
  await sources.index(({ incarnation, partition, offset, number }) => {
    documents++;
    const place = `${partition}/${offset}`;
    const own = seen[partition];
    if (incarnation !== log.incarnation || own === undefined || offset >= own.length) {
      findings.add('documents of no record', place);
      return;
    }
    if (own[offset] === 1) findings.add('records twice in the index', place);
    own[offset] = 1;
    if (number !== log.number(partition, offset)) findings.add('documents with another number than their record', place);
  });
  for (const [partition, own] of seen.entries())
    for (let offset = 0; offset < own.length; offset++)
      if (own[offset] === 0) findings.add('records missing in the index', `${partition}/${offset}`);
  return documents;
}

async function censusOfLake(sources: Sources, log: Log, findings: Findings) {
  const next = log.numbers.map(() => 0);
  const order = new KeyOrder();
  let rows = 0;
  const size = await sources.lake(({ incarnation, partition }, { offset, key, value }) => {
    rows++;
    const place = `${partition}/${offset}`;
    const number = log.number(partition, offset);
    const expected = next[partition] ?? 0;
    if (incarnation !== log.incarnation || number === undefined) {
      findings.add('rows of no record', place);
      return;
    }
    if (offset < expected) findings.add('rows of an offset that was there before, or behind a later one', place);
    for (let missing = expected; missing < offset; missing++) findings.add('records missing in the lake', `${partition}/${missing}`);
    next[partition] = Math.max(expected, offset + 1);
    if (value === null || crc32(value) !== log.checksums[partition]?.[offset])
      findings.add('rows with other bytes than their record', place);
    else if (!order.rises(key, number)) findings.add('rows of a key out of order in the lake', place);
  });
  for (const [partition, { length }] of log.numbers.entries())
    for (let missing = next[partition] ?? 0; missing < length; missing++)
      findings.add('records missing in the lake', `${partition}/${missing}`);
  return { rows, ...size };
}
