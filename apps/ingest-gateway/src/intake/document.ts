import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, closingQuote, LF, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace } from './bytes.ts';

/**
 * How far the JSON document at the begin of a body goes. `line`: not over the end of its line, or it is none (a line that was cut
 * off, with others behind it). `whole`: over several lines and to the end of the body. `goes-on`: over several lines, with more
 * behind it. `cut-off`: over the end of the body.
 */
export type Extent = 'line' | 'whole' | 'goes-on' | 'cut-off';

/** Deeper ones are nobody's events; the bound keeps a hostile body from filling memory with its open brackets. */
const MAX_DEPTH = 10_000;

/**
 * Looks only at brackets, and at whether a value may stand where it stands: that is enough to tell an indented document from lines
 * of which the first one is broken. Whether it is right in detail is for whoever parses it.
 */
export function extentOfDocument(body: Buffer): Extent {
  const start = skipSpace(body);
  if (body[start] !== OPEN_ARRAY && body[start] !== OPEN_OBJECT) return 'line';
  const open: number[] = []; // The brackets that are open.
  let before: number | undefined; // The last byte that is no white space, as far as it matters here.
  let lineEnds = 0;
  for (let i = start; i < body.length; i++) {
    const byte = body[i];
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      if (!mayOpen(before, open.at(-1)) || open.length === MAX_DEPTH) return 'line';
      open.push(byte);
    } else if (byte === QUOTE) {
      if (before !== COMMA && before !== COLON && before !== OPEN_ARRAY && before !== OPEN_OBJECT) return 'line';
      const end = closingQuote(body, i);
      // A string of JSON has no line end in it: it is the line that was broken off there.
      const lf = body.subarray(i, end === -1 ? body.length : end).indexOf(LF);
      if (lf !== -1) return 'line';
      if (end === -1) return lineEnds > 0 ? 'cut-off' : 'line';
      i = end;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      const opened = open.pop();
      if (opened !== (byte === CLOSE_ARRAY ? OPEN_ARRAY : OPEN_OBJECT)) return 'line';
      if (open.length === 0) {
        if (lineEnds === 0) return 'line';
        return skipSpace(body, i + 1) === body.length ? 'whole' : 'goes-on';
      }
    } else if (byte === LF) {
      lineEnds++;
    }
    if (byte !== undefined && byte > 0x20) before = byte;
  }
  return lineEnds > 0 && open.length > 0 ? 'cut-off' : 'line';
}

/** Whether a bracket may open behind this byte within that container. */
function mayOpen(before: number | undefined, container: number | undefined): boolean {
  if (before === undefined || before === COLON) return true;
  return container === OPEN_ARRAY && (before === COMMA || before === OPEN_ARRAY);
}
