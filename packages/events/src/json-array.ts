import { isUtf8 } from 'node:buffer';
import { topLevelParts } from './json-parts.ts';

/** An element of a JSON array: parsed, and where it stands in the array's bytes, `[start, end)`. */
export interface Element {
  readonly value: unknown;
  readonly start: number;
  readonly end: number;
}

export type SlicedArray = { readonly elements: readonly Element[] } | { readonly problem: string };

/**
 * The elements of a JSON array with the place of each in the original bytes, so that these can be passed on and nothing is
 * serialised again. JSON.parse judges the whole; the slices only say where its elements stand.
 */
export function sliceJsonArray(body: Buffer): SlicedArray {
  if (!isUtf8(body)) return { problem: 'is not valid UTF-8' };
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch {
    // JSON.parse throws only for text that is not JSON.
    return { problem: 'is not valid JSON' };
  }
  if (!Array.isArray(parsed)) return { problem: 'is not a JSON array' };
  const parts = topLevelParts(body);
  // An event must never be stored under another one's bytes, so a scanner that disagrees with the parser is a fault, not an answer.
  if (parts.length !== parsed.length) throw new Error(`found ${parts.length} slices for ${parsed.length} elements`);
  return { elements: parts.map((part, i) => ({ value: parsed[i], ...part })) };
}
