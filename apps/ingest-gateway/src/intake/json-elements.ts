import type { Line } from '@tailrace/events';
import { CLOSE_ARRAY, CLOSE_OBJECT, COMMA, closingQuote, OPEN_ARRAY, OPEN_OBJECT, QUOTE, trimmed } from './bytes.ts';

/** The events of a JSON body by their places, or why the body as a whole is not one: `reason` is a sentence for the client. */
export type JsonPlaces =
  | { readonly places: readonly Line[] }
  | { readonly fault: 'too-many' }
  | { readonly fault: 'not-json'; readonly reason: string };

/**
 * Where the elements of a JSON array stand, or the one value that is not an array. Only the array's own brackets and commas are
 * judged here; each element is judged by whoever parses it. So one bad element costs only itself, and a hostile body
 * (`[{},{},...]`: 8 MiB of it were seen to take 3 s and 500 MB when parsed as a whole) is refused before anything is built of it.
 */
export function placesInJson(body: Buffer, maxPlaces: number): JsonPlaces {
  const [start, end] = trimmed(body, 0, body.length);
  if (start === end) return { places: [] };
  if (body[start] !== OPEN_ARRAY) return { places: [{ line: 1, start, end }] };
  const places: Line[] = [];
  let depth = 1;
  let from = start + 1;
  for (let i = start + 1; i < end; i++) {
    const byte = body[i];
    if (byte === QUOTE) {
      i = closingQuote(body, i);
      if (i === -1) return notJson('It ends within a string of its array, as if it was cut off.');
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      depth++;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      depth--;
      if (depth === 0) {
        if (byte !== CLOSE_ARRAY) return notJson(`Its array is closed by "}" (byte ${i + 1}).`);
        if (i !== end - 1) return notJson(`Something stands behind the end of its array (byte ${i + 1}).`);
        const [first, last] = trimmed(body, from, i);
        if (first < last) places.push({ line: places.length + 1, start: first, end: last });
        else if (places.length > 0) return notJson(`A comma stands before the end of its array (byte ${i + 1}).`);
        return places.length > maxPlaces ? { fault: 'too-many' } : { places };
      }
    } else if (byte === COMMA && depth === 1) {
      const [first, last] = trimmed(body, from, i);
      if (first === last) return notJson(`An element of its array is missing before the comma (byte ${i + 1}).`);
      if (places.length >= maxPlaces) return { fault: 'too-many' };
      places.push({ line: places.length + 1, start: first, end: last });
      from = i + 1;
    }
  }
  return notJson('Its array has no end, as if it was cut off.');
}

const notJson = (reason: string): JsonPlaces => ({ fault: 'not-json', reason });
