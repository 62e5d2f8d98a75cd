import type { CloseReason } from './contract.ts';
import { heldBytes, type OffsetRecord, RecordColumns } from './record-columns.ts';

/** A batch closes at the first of these. `maxBytes` counts keys, values, headers and a fixed overhead a record. */
export interface BatchLimits {
  readonly maxRecords: number;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** Takes a closed run: its records, and why it was closed. */
type Emit = (records: RecordColumns, why: CloseReason) => void;

/** Collects a lane's records in order and says when a run is closed, and why. A record larger than `maxBytes` is a run of its own. */
export class Batcher {
  readonly #limits: BatchLimits;
  readonly #emit: Emit;
  #records = new RecordColumns();
  #openedMs = 0;

  constructor(limits: BatchLimits, emit: Emit) {
    this.#limits = limits;
    this.#emit = emit;
  }

  get length(): number {
    return this.#records.length;
  }

  /** Broker time of the first record that is not closed yet. */
  get firstTimestampMs(): number | undefined {
    return this.#records.length === 0 ? undefined : this.#records.timestampMs(0);
  }

  append(record: OffsetRecord, nowMs: number, bytes = heldBytes(record)): void {
    if (this.#records.length > 0 && this.#records.heldBytes + bytes > this.#limits.maxBytes) this.close('bytes');
    if (this.#records.length === 0) this.#openedMs = nowMs;
    this.#records.append(record, bytes);
    if (this.#records.length >= this.#limits.maxRecords) this.close('records');
  }

  /** Closes a run that is older than its limit, also when nothing new arrives. */
  closeIfDue(nowMs: number): void {
    if (this.#records.length > 0 && nowMs - this.#openedMs >= this.#limits.maxAgeMs) this.close('age');
  }

  close(why: CloseReason): void {
    if (this.#records.length === 0) return;
    const records = this.#records;
    this.#records = new RecordColumns();
    this.#emit(records, why);
  }
}
