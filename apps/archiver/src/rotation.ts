import { MAX_DATA_SPAN } from '@tailrace/lake';

/** When an object is closed. */
export interface RotationLimits {
  readonly maxRows: number;
  readonly maxRawBytes: number;
  /** By the records' own broker times, so that the same records make the same objects whenever they are read. */
  readonly maxRecordTimeMs: number;
}

export const ROTATION: RotationLimits = { maxRows: 1_000_000, maxRawBytes: 350_000_000, maxRecordTimeMs: 600_000 };

/** Why an object was closed. */
export type RotationCause =
  | 'hour'
  | 'rows'
  | 'bytes'
  | 'record-time'
  | 'span'
  | 'void'
  | 'lost'
  | 'recreated'
  | 'room'
  | 'idle'
  | 'stop'
  | 'halt';

/** What an open object holds, as far as its rotation needs it. */
export interface OpenFacts {
  readonly first: number;
  /** Broker time of its first record. */
  readonly firstTimestampMs: number;
  readonly rows: number;
  readonly rawBytes: number;
}

/** What is looked at of a record. `rawBytes` counts key, value and header values. */
export interface NextRecord {
  readonly offset: number;
  readonly timestampMs: number;
  readonly rawBytes: number;
}

const HOUR_MS = 3_600_000;

/** Why the object must be closed before this record is taken in, or undefined when it may take it. */
export function causeBefore(open: OpenFacts, record: NextRecord, limits: RotationLimits): RotationCause | undefined {
  // An earlier hour counts too: a leader change may step the broker's clock back.
  if (Math.floor(record.timestampMs / HOUR_MS) !== Math.floor(open.firstTimestampMs / HOUR_MS)) return 'hour';
  if (open.rows >= limits.maxRows) return 'rows';
  if (open.rawBytes + record.rawBytes > limits.maxRawBytes && open.rows > 0) return 'bytes';
  if (record.timestampMs - open.firstTimestampMs >= limits.maxRecordTimeMs) return 'record-time';
  if (record.offset + 1 - open.first > MAX_DATA_SPAN) return 'span';
  return undefined;
}

/** A run of records for one object. `closes`: why the object before it is closed; undefined where it goes on with the open one. */
export interface Segment<R> {
  readonly closes: RotationCause | undefined;
  /** Whether the run begins an object. */
  readonly begins: boolean;
  readonly records: readonly R[];
}

/** Cuts records into the runs that go into one object each, beginning with the open one where there is one. */
export function segments<R>(
  open: OpenFacts | undefined,
  records: readonly R[],
  look: (record: R) => NextRecord,
  limits: RotationLimits,
): Segment<R>[] {
  const cut: { closes: RotationCause | undefined; begins: boolean; records: R[] }[] = [];
  // Changed in place: a new object for each record is garbage.
  let facts = open === undefined ? undefined : { ...open };
  let run: R[] | undefined;
  for (const record of records) {
    const next = look(record);
    const closes = facts === undefined ? undefined : causeBefore(facts, next, limits);
    if (facts === undefined || closes !== undefined) {
      facts = { first: next.offset, firstTimestampMs: next.timestampMs, rows: 0, rawBytes: 0 };
      run = [];
      cut.push({ closes, begins: true, records: run });
    } else if (run === undefined) {
      run = [];
      cut.push({ closes: undefined, begins: false, records: run });
    }
    facts.rows += 1;
    facts.rawBytes += next.rawBytes;
    run?.push(record);
  }
  return cut;
}
