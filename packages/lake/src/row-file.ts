import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { digestText } from './record-digest.ts';
import type { LakeRecord } from './records.ts';
import { RowText } from './row-text.ts';
import { type RowTotals, RunningTotals } from './row-totals.ts';

const ROWS_AT_A_STRETCH = 1000;
const BYTES_AT_A_STRETCH = 1024 * 1024;

function payloadBytes({ key, value, headers }: LakeRecord): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0);
  for (const [, content] of headers) bytes += content?.length ?? 0;
  return bytes;
}

/** The file's bytes and rows in one stretch of it. */
interface Stretch {
  readonly rows: number;
  readonly bytes: number;
}

const NO_ROWS: Stretch = { rows: 0, bytes: 0 };

function denser(one: Stretch, other: Stretch): Stretch {
  return other.bytes * one.rows > one.bytes * other.rows || one.rows === 0 ? other : one;
}

interface Mark {
  readonly fileBytes: number;
  readonly rawBytes: number;
  readonly longestLine: number;
  /** The whole stretch with the most bytes to a row, and the one that is still short of its rows. */
  readonly densest: Stretch;
  readonly latest: Stretch;
  readonly totals: RowTotals | undefined;
}

/**
 * Rows on their way into a Parquet file, as tab-separated text that DuckDB reads without any work on the main thread. It is never
 * synced: after a crash the ledger is the truth and Kafka is read again, so nothing ever reads a row file of an earlier process.
 */
export class RowFile {
  readonly path: string;
  readonly #handle: FileHandle;
  #state: Mark = { fileBytes: 0, rawBytes: 0, longestLine: 0, densest: NO_ROWS, latest: NO_ROWS, totals: undefined };
  /** Lines on their way to the disk. */
  #text: RowText | undefined;
  #closed = false;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  /** Makes the file; it must not exist. */
  static async create(path: string): Promise<RowFile> {
    return new RowFile(path, await open(path, 'wx'));
  }

  get totals(): RowTotals | undefined {
    return this.#state.totals;
  }

  get fileBytes(): number {
    return this.#state.fileBytes;
  }

  /** Bytes of keys, values and header values. */
  get rawBytes(): number {
    return this.#state.rawBytes;
  }

  /** In bytes, with its line feed. */
  get longestLine(): number {
    return this.#state.longestLine;
  }

  /** The stretch with the most bytes to a row: what a run of rows may take at worst. */
  get densest(): Stretch {
    const { densest, latest } = this.#state;
    // A short rest counts as if it went on like this for a whole stretch: in a file of its own it does.
    return latest.rows === 0 ? densest : denser(densest, latest);
  }

  /** Where the file stands now, for `rollBack`. */
  mark(): Mark {
    return this.#state;
  }

  /** Forgets every row behind the mark. */
  rollBack(mark: Mark): void {
    this.#state = mark;
  }

  /** Appends the records whole or not at all: a write that fails leaves the file where it stood. */
  async append(records: Iterable<LakeRecord>): Promise<void> {
    const sum = new RunningTotals(this.#state.totals);
    let { fileBytes, longestLine, rawBytes, densest, latest } = this.#state;
    this.#text ??= new RowText();
    const text = this.#text;
    text.clear();
    const flush = async (): Promise<void> => {
      await this.#write(text.bytes, fileBytes);
      fileBytes += text.bytes.length;
      text.clear();
    };
    for (const record of records) {
      const digest = digestText(record);
      const lineBytes = text.add(record, digest);
      longestLine = Math.max(longestLine, lineBytes);
      latest = { rows: latest.rows + 1, bytes: latest.bytes + lineBytes };
      if (latest.rows === ROWS_AT_A_STRETCH) {
        densest = denser(densest, latest);
        latest = NO_ROWS;
      }
      rawBytes += payloadBytes(record);
      sum.add(record, digest);
      // The write gives the event loop a turn: thousands of records at a stretch would hold it for a tenth of a second.
      if (text.rows === ROWS_AT_A_STRETCH || text.bytes.length >= BYTES_AT_A_STRETCH) await flush();
    }
    await flush();
    this.#state = { fileBytes, rawBytes, longestLine, densest, latest, totals: sum.totals };
  }

  /** At an explicit position: what a failed write left behind is written over by the next one. */
  async #write(bytes: Buffer, position: number): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at, position + at);
      at += bytesWritten;
    }
  }

  /** Ends the writing, and cuts off what a failed write left behind. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#text = undefined;
    try {
      await this.#handle.truncate(this.#state.fileBytes);
    } finally {
      await this.#handle.close();
    }
  }

  /** Whether the closed file is still on disk with the bytes that were written: others may clean up folders. */
  async isWhole(): Promise<boolean> {
    try {
      return (await stat(this.path)).size === this.#state.fileBytes;
    } catch (error) {
      if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return false;
      throw error;
    }
  }

  async delete(): Promise<void> {
    await this.close();
    await rm(this.path, { force: true });
  }
}
