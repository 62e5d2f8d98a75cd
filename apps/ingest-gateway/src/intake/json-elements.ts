import type { Line } from '@tailrace/events';

/** The events of a JSON body by their places, or why the body as a whole is not one. */
export type JsonPlaces = { readonly places: readonly Line[] } | { readonly fault: 'not-json' | 'too-many' };

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN = [0x5b, 0x7b] as const;
const CLOSE = [0x5d, 0x7d] as const;

/**
 * Where the elements of a JSON array stand, or the one value that is not an array. Only the array's own brackets and commas are
 * judged here; each element is judged by whoever parses it. So one bad element costs only itself, and a hostile body
 * (`[{},{},...]`: 8 MiB of it were seen to take 3 s and 500 MB when parsed as a whole) is refused before anything is built of it.
 */
export function placesInJson(body: Buffer, maxPlaces: number): JsonPlaces {
  const [start, end] = trimmed(body, 0, body.length);
  if (start === end) return { places: [] };
  if (body[start] !== OPEN[0]) return { places: [{ line: 1, start, end }] };
  const places: Line[] = [];
  let depth = 1;
  let from = start + 1;
  for (let i = start + 1; i < end; i++) {
    const byte = body[i];
    if (byte === QUOTE) {
      i = closingQuote(body, i);
      if (i === -1) return { fault: 'not-json' };
    } else if (byte === OPEN[0] || byte === OPEN[1]) {
      depth++;
    } else if (byte === CLOSE[0] || byte === CLOSE[1]) {
      depth--;
      if (depth === 0) {
        // Behind the array's end nothing may stand, and its end is a square bracket.
        if (i !== end - 1 || byte !== CLOSE[0]) return { fault: 'not-json' };
        const [first, last] = trimmed(body, from, i);
        if (first < last) places.push({ line: places.length + 1, start: first, end: last });
        else if (places.length > 0) return { fault: 'not-json' };
        return places.length > maxPlaces ? { fault: 'too-many' } : { places };
      }
    } else if (byte === COMMA && depth === 1) {
      const [first, last] = trimmed(body, from, i);
      if (first === last) return { fault: 'not-json' };
      if (places.length >= maxPlaces) return { fault: 'too-many' };
      places.push({ line: places.length + 1, start: first, end: last });
      from = i + 1;
    }
  }
  return { fault: 'not-json' };
}

/** The index of the quote that closes the string opened at `open`, or -1. */
function closingQuote(body: Buffer, open: number): number {
  for (let i = open + 1; i < body.length; i++) {
    const byte = body[i];
    if (byte === QUOTE) return i;
    if (byte === BACKSLASH) i++;
  }
  return -1;
}

function trimmed(body: Buffer, from: number, to: number): readonly [start: number, end: number] {
  let start = from;
  let end = to;
  while (start < end && isSpace(body[start])) start++;
  while (start < end && isSpace(body[end - 1])) end--;
  return [start, end];
}

/** White space between JSON tokens. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
