import { isUtf8 } from 'node:buffer';
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { eventKind } from '@tailrace/events';
import { withoutLoneSurrogates } from './lone-surrogates.ts';
import { recordDigest } from './record-digest.ts';
import type { LakeRecord } from './records.ts';
import { type RowTotals, RunningTotals } from './row-totals.ts';

const ROWS_AT_A_STRETCH = 1000;

/** Stands for null: no base64 text and no JSON list is a lone hyphen. */
export const NULL_TEXT = '-';

function base64(bytes: Buffer | null): string {
  return bytes === null ? NULL_TEXT : bytes.toString('base64');
}

/** A JSON list of [name, base64 or null]: names repeat in Kafka, and values are bytes. */
export function headersJson(headers: LakeRecord['headers']): string {
  let text = '';
  for (const [name, value] of headers)
    text += `${text === '' ? '' : ','}[${JSON.stringify(name)},${value === null ? 'null' : `"${value.toString('base64')}"`}]`;
  return `[${text}]`;
}

/** Whether the value can be looked into: text, of a type and major version that the field table describes. */
function readable({ value, headers }: LakeRecord): boolean {
  if (value === null || !isUtf8(value)) return false;
  const kind = eventKind(headers);
  return kind === 'current' || kind === 'newer-minor';
}

/** One row of the file; the columns are those that `row-file-sql.ts` reads. */
function line(record: LakeRecord, digest: bigint): string {
  const { offset, timestampMs, key, value, headers } = record;
  const isReadable = readable(record);
  const mended = isReadable && value !== null ? withoutLoneSurrogates(value) : null;
  return `${offset}\t${timestampMs}\t${digest}\t${isReadable ? 1 : 0}\t${base64(mended)}\t${base64(key)}\t${headersJson(headers)}\t${base64(value)}\n`;
}

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
    let lines: string[] = [];
    const flush = async (): Promise<void> => {
      fileBytes += await this.#write(lines.join(''), fileBytes);
      lines = [];
    };
    for (const record of records) {
      const digest = recordDigest(record);
      const text = line(record, digest);
      const lineBytes = Buffer.byteLength(text);
      longestLine = Math.max(longestLine, lineBytes);
      latest = { rows: latest.rows + 1, bytes: latest.bytes + lineBytes };
      if (latest.rows === ROWS_AT_A_STRETCH) {
        densest = denser(densest, latest);
        latest = NO_ROWS;
      }
      rawBytes += payloadBytes(record);
      sum.add(record, digest);
      lines.push(text);
      // The write gives the event loop a turn: thousands of records at a stretch would hold it for a tenth of a second.
      if (lines.length === ROWS_AT_A_STRETCH) await flush();
    }
    await flush();
    this.#state = { fileBytes, rawBytes, longestLine, densest, latest, totals: sum.totals };
  }

  /** At an explicit position: what a failed write left behind is written over by the next one. */
  async #write(text: string, position: number): Promise<number> {
    const bytes = Buffer.from(text, 'utf8');
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at, position + at);
      at += bytesWritten;
    }
    return bytes.length;
  }

  /** Ends the writing, and cuts off what a failed write left behind. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
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
