/** One comparison that chooses events: what people write behind `--where`. No patterns and no scripts: what it costs is bounded by the event. */
import { isUtf8 } from 'node:buffer';
import { type Comparison, comparisonHolds, OPERATORS, type Operator, quoted, readComparison, type WrittenValue } from './comparison.ts';

/** A comparison that `parseFilter` has understood. */
export interface EventFilter extends Comparison {
  /** As it was written: who keeps a filter keeps this. */
  readonly text: string;
}

export type ParsedFilter = { readonly filter: EventFilter } | { readonly problem: string };

/** The longer operators first: `<` would leave the `=` of `<=` to the value. The name takes neither white space nor signs of comparison. */
const COMPARISON = /^([^\s=!<>"]+)\s*(!=|<=|>=|=|<|>)\s*(.*)$/su;
const MAX_FILTER_LENGTH = 4096;

/**
 * Reads one comparison `field operator value`. `field` is one of the field table, or `attributes.NAME`; `operator` one of = != < <= > >=; the value is
 * bare (no white space) or a JSON string in double quotes. A problem is one sentence that names what would fit.
 */
export function parseFilter(text: string): ParsedFilter {
  if (text.length > MAX_FILTER_LENGTH) return { problem: `A filter has at most ${MAX_FILTER_LENGTH} characters.` };
  const [, name = '', operator, written = ''] = COMPARISON.exec(text.trim()) ?? [];
  if (operator === undefined)
    return {
      problem: `${quoted(text)} is no comparison: write a field, one of ${OPERATORS.join(' ')}, and a value, like status_code >= 500.`,
    };
  const value = readValue(written);
  if ('problem' in value) return value;
  const comparison = readComparison(name, operator as Operator, value);
  return 'problem' in comparison ? comparison : { filter: { text, ...comparison } };
}

/** Whether a record's value is an event (one JSON object in UTF-8) for which the comparison holds. Of a name that occurs twice the last value counts. */
export function filterMatches(filter: EventFilter, value: Buffer | null): boolean {
  if (value === null) return false;
  const text = value.toString('utf8');
  // Decoding puts U+FFFD in place of each bad byte.
  if (text.includes('\ufffd') && !isUtf8(value)) return false;
  try {
    return comparisonHolds(filter, JSON.parse(text));
  } catch {
    // Safe: JSON.parse throws only for text that is not JSON, and that is no event.
    return false;
  }
}

function readValue(written: string): WrittenValue | { readonly problem: string } {
  if (!written.startsWith('"')) {
    if (written === '') return { problem: 'The value is missing; an empty text is written "".' };
    // `==` would else be a comparison with a text that begins with `=`.
    if (/^[=!<>~]|[\s"]/.test(written))
      return { problem: `Put the value ${quoted(written)} in double quotes; only one comparison may stand here.` };
    return { text: written, inQuotes: false };
  }
  try {
    const text: unknown = JSON.parse(written);
    if (typeof text === 'string') return { text, inQuotes: true };
  } catch {
    // Safe: what is wrong with it is said below.
  }
  return { problem: `${quoted(written)} is no text in double quotes as in JSON: inside, write \\" for " and \\\\ for \\.` };
}
