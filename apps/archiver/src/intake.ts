import type { LakeRecord, OffsetRange, RowFile } from '@tailrace/lake';
import { rawBytes } from './batch-records.ts';
import { type NextRecord, type OpenFacts, type RotationCause, type RotationLimits, type Segment, segments } from './rotation.ts';
import type { Spool } from './spool.ts';
import type { ClosedHole } from './store-hole.ts';
import type { ClosedRows } from './store-object.ts';

/** An object names its voids in its ledger entry: a topic with many small transactions must not make that long without end. */
const MAX_VOIDS = 4096;

interface OpenObject {
  readonly file: RowFile;
  readonly first: number;
  readonly firstTimestampMs: number;
  /** Between its rows. */
  readonly voids: OffsetRange[];
  /** Behind its last row: one of the others as soon as a row follows in this object. */
  voidBehind: OffsetRange | undefined;
}

const look = (record: LakeRecord): NextRecord => ({ offset: record.offset, timestampMs: record.timestampMs, rawBytes: rawBytes(record) });

/** The object of one partition that takes in rows, closed by the rules of rotation or from outside. */
export class Intake {
  readonly #spool: Spool;
  readonly #limits: RotationLimits;
  /** Is told what was closed, in the order of offsets. */
  readonly #closed: (closed: ClosedRows | ClosedHole, cause: RotationCause) => void;
  #open: OpenObject | undefined;

  constructor(spool: Spool, limits: RotationLimits, closed: (closed: ClosedRows | ClosedHole, cause: RotationCause) => void) {
    this.#spool = spool;
    this.#limits = limits;
    this.#closed = closed;
  }

  get file(): RowFile | undefined {
    return this.#open?.file;
  }

  /** Takes in records without a hole before or between them: all, or none where it throws. */
  async append(records: readonly LakeRecord[]): Promise<void> {
    const runs = segments(this.#facts(), records, look, this.#limits);
    const begun = await this.#write(runs);
    // Only what is written is closed and begun.
    for (const { begins, closes } of runs) {
      if (!begins) this.#rowFollows();
      else {
        if (closes !== undefined) this.close(closes);
        this.#open = begun.shift();
      }
    }
  }

  /** Notes a void behind the last row. False where it has to be closed instead. */
  noteVoid({ first, next }: OffsetRange): boolean {
    if (this.#open === undefined || this.#open.voids.length >= MAX_VOIDS) return false;
    this.#open.voidBehind = { first: this.#open.voidBehind?.first ?? first, next };
    return true;
  }

  close(cause: RotationCause): void {
    const open = this.#open;
    this.#open = undefined;
    if (open?.file.totals === undefined) return;
    const { file, first, voids, voidBehind } = open;
    this.#closed({ kind: 'rows', file, first, next: open.file.totals.lastOffset + 1, voids }, cause);
    if (voidBehind !== undefined) this.#closed({ kind: 'void', ...voidBehind }, cause);
  }

  /** Forgets what is open; returns its file, to be deleted. */
  drop(): RowFile | undefined {
    const file = this.#open?.file;
    this.#open = undefined;
    return file;
  }

  #facts(): OpenFacts | undefined {
    if (this.#open === undefined) return undefined;
    const { file, first, firstTimestampMs } = this.#open;
    return { first, firstTimestampMs, rows: file.totals?.rows ?? 0, rawBytes: file.rawBytes };
  }

  /** Writes all runs, or leaves everything as it was. Returns the objects that begin with one. */
  async #write(runs: readonly Segment<LakeRecord>[]): Promise<OpenObject[]> {
    const mark = this.#open?.file.mark();
    const begun: OpenObject[] = [];
    try {
      for (const { begins, records } of runs) {
        const [first] = records;
        if (begins && first !== undefined) begun.push(beginWith(first, await this.#spool.rows()));
        await (begun.at(-1) ?? this.#open)?.file.append(records);
      }
      return begun;
    } catch (error) {
      if (mark !== undefined) this.#open?.file.rollBack(mark);
      for (const { file } of begun) await file.delete();
      throw error;
    }
  }

  /** What was behind the open object's last row is between two of them now. */
  #rowFollows(): void {
    if (this.#open?.voidBehind === undefined) return;
    this.#open.voids.push(this.#open.voidBehind);
    this.#open.voidBehind = undefined;
  }
}

function beginWith({ offset, timestampMs }: LakeRecord, file: RowFile): OpenObject {
  return { file, first: offset, firstTimestampMs: timestampMs, voids: [], voidBehind: undefined };
}
