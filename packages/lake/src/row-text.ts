import { isUtf8 } from 'node:buffer';
import { eventKind } from '@tailrace/events';
import { withoutLoneSurrogates } from './lone-surrogates.ts';
import type { LakeRecord } from './records.ts';

/** Stands for null: a control character is in no field as it is. */
export const NULL_TEXT = '\u0001';

const TAB = 9;
const LINE_FEED = 10;
const FIRST_PRINTABLE = 0x20;
const FIRST_BYTES = 256 * 1024;

/** A JSON list of [name, base64 or null]: names repeat in Kafka, and values are bytes. */
export function headersJson(headers: LakeRecord['headers']): string {
  let text = '';
  for (const [name, value] of headers)
    text += `${text === '' ? '' : ','}[${JSON.stringify(name)},${value === null ? 'null' : `"${value.toString('base64')}"`}]`;
  return `[${text}]`;
}

/** Whether it can stand in a line as it is. A loop: three searches by native code take longer for a record's size. */
function hasControlCharacter(bytes: Buffer): boolean {
  for (let i = 0; i < bytes.length; i++) if ((bytes[i] ?? 0) < FIRST_PRINTABLE) return true;
  return false;
}

function sameBytes(a: Buffer | null, b: Buffer | null): boolean {
  return a === b || (a !== null && b !== null && a.length === b.length && a.equals(b));
}

function sameHeaders(a: LakeRecord['headers'], b: LakeRecord['headers']): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const one = a[i];
    const other = b[i];
    if (one === undefined || other === undefined || one[0] !== other[0] || !sameBytes(one[1], other[1])) return false;
  }
  return true;
}

/** What follows from a record's headers alone. */
interface HeaderFacts {
  readonly headers: LakeRecord['headers'];
  readonly json: string;
  /** Whether the field table describes the value. */
  readonly known: boolean;
}

/** The headers' own copy: their bytes are good only for as long as their batch. */
function headerFacts(headers: LakeRecord['headers']): HeaderFacts {
  const kind = eventKind(headers);
  return {
    headers: headers.map(([name, value]) => [name, value === null ? null : Buffer.from(value)]),
    json: headersJson(headers),
    known: kind === 'current' || kind === 'newer-minor',
  };
}

/**
 * Rows as lines of tab-separated text, put together in one buffer; the columns are those that `row-file-sql.ts` reads. Bytes of a key or
 * value stand there as they are where they are text of one line, and in base64 in a column of their own where they are not.
 */
export class RowText {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #end = 0;
  #rows = 0;
  /** Records of one service have the same headers, one after another. */
  #last: HeaderFacts = headerFacts([]);

  get rows(): number {
    return this.#rows;
  }

  /** The lines; good until the next change. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#end);
  }

  clear(): void {
    this.#end = 0;
    this.#rows = 0;
  }

  /** Adds a row; returns the bytes of its line. `digest` is the record's, in hexadecimal digits. */
  add({ offset, timestampMs, key, value, headers }: LakeRecord, digest: string): number {
    const start = this.#end;
    if (!sameHeaders(this.#last.headers, headers)) this.#last = headerFacts(headers);
    const { json, known } = this.#last;
    const isText = value !== null && isUtf8(value);
    const isReadable = known && isText;
    this.#ascii(`${offset}\t${timestampMs}\t${digest}\t${isReadable ? 1 : 0}\t`);
    this.#base64(isReadable ? withoutLoneSurrogates(value) : null);
    this.#tab();
    this.#payload(key, key !== null && isUtf8(key));
    this.#utf8(json);
    this.#tab();
    this.#payload(value, isText);
    this.#buffer[this.#end - 1] = LINE_FEED;
    this.#rows += 1;
    return this.#end - start;
  }

  /** Two columns: as it is, and in base64. */
  #payload(bytes: Buffer | null, isText: boolean): void {
    const plain = bytes !== null && isText && !hasControlCharacter(bytes);
    if (plain) this.#plain(bytes);
    else this.#ascii(NULL_TEXT);
    this.#tab();
    this.#base64(plain ? null : bytes);
    this.#tab();
  }

  #tab(): void {
    this.#room(1);
    this.#buffer[this.#end] = TAB;
    this.#end += 1;
  }

  #plain(bytes: Buffer): void {
    this.#room(bytes.length);
    this.#buffer.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  #base64(bytes: Buffer | null): void {
    this.#ascii(bytes === null ? NULL_TEXT : bytes.toString('base64'));
  }

  #ascii(text: string): void {
    this.#room(text.length);
    this.#end += this.#buffer.write(text, this.#end, 'latin1');
  }

  #utf8(text: string): void {
    // UTF-16 units take at most three bytes.
    this.#room(text.length * 3);
    this.#end += this.#buffer.write(text, this.#end, 'utf8');
  }

  #room(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#end + bytes));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }
}
