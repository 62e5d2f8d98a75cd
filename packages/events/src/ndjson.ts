/** One line of a body: its bytes are `[start, end)`, without the line's end. `line` counts from 1, blank lines included. */
export interface Line {
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

const LF = 10;

/** Whether a byte is white space between JSON tokens. */
function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

/**
 * The lines of newline-delimited JSON that are not blank. A line may end in CR LF, and the last one needs no end. White space
 * around a line is not part of it, so what is passed on is the event alone.
 */
export function splitNdjson(body: Buffer): Line[] {
  const lines: Line[] = [];
  for (let line = 1, from = 0; from < body.length; line++) {
    const lf = body.indexOf(LF, from);
    const next = lf === -1 ? body.length : lf;
    let start = from;
    let end = next;
    while (end > start && isBlank(body[end - 1])) end--;
    while (start < end && isBlank(body[start])) start++;
    if (start < end) lines.push({ line, start, end });
    from = next + 1;
  }
  return lines;
}
