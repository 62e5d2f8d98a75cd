/** The bytes that JSON's grammar is made of. */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const BACKSLASH = 0x5c;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const LF = 0x0a;

/** White space between JSON tokens. */
export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === LF || byte === 0x0d || byte === 0x09;
}

/** The first place at or behind `from` that is not white space, or the length. */
export function skipSpace(body: Buffer, from = 0): number {
  let at = from;
  while (at < body.length && isSpace(body[at])) at++;
  return at;
}

/** `[from, to)` without the white space around it. */
export function trimmed(body: Buffer, from: number, to: number): readonly [start: number, end: number] {
  let start = from;
  let end = to;
  while (start < end && isSpace(body[start])) start++;
  while (start < end && isSpace(body[end - 1])) end--;
  return [start, end];
}

/** The index of the quote that closes the string opened at `open`, or -1. */
export function closingQuote(body: Buffer, open: number): number {
  for (let i = open + 1; i < body.length; i++) {
    const byte = body[i];
    if (byte === QUOTE) return i;
    if (byte === BACKSLASH) i++;
  }
  return -1;
}
