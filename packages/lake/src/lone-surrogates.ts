/** An escaped backslash (which begins no other escape), a pair of surrogate escapes, or a surrogate escape by itself. */
const SURROGATES = /\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}/g;
const ONE_ESCAPE = 6;

/**
 * JSON text in which each escape of half a character (`\ud800` without its other half) has become U+FFFD, or null where there is none.
 * JSON.parse takes such halves and DuckDB does not: without this an event that the gateway accepted would have no typed columns.
 */
export function withoutLoneSurrogates(json: Buffer): Buffer | null {
  if (!json.includes('\\ud') && !json.includes('\\uD')) return null;
  const text = json.toString('utf8');
  const mended = text.replace(SURROGATES, (found) => (found.length === ONE_ESCAPE ? '\\ufffd' : found));
  return mended === text ? null : Buffer.from(mended);
}
