/** Bytes `[start, end)` of a JSON text. */
export interface Part {
  readonly start: number;
  readonly end: number;
}

/** A member of a JSON object: its bytes are the whole `"name": value`. */
export interface Member extends Part {
  readonly name: string;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Whether a byte is white space between JSON tokens. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** The index behind the string whose opening quote stands at `at`. Valid JSON closes every string. */
function endOfString(json: Buffer, at: number): number {
  for (let i = at + 1; i < json.length; i++) {
    const byte = json[i];
    if (byte === QUOTE) return i + 1;
    if (byte === BACKSLASH) i++;
  }
  throw new Error('the bytes are not the JSON that was parsed');
}

/**
 * Where the members of an object stand, white space trimmed. The bytes must be valid JSON in UTF-8: the scan only looks at quotes, brackets and commas, which in
 * valid UTF-8 are never part of another character.
 */
function topLevelParts(json: Buffer): Part[] {
  const parts: { start: number; end: number }[] = [];
  let depth = 0;
  let from = 0;
  const close = (to: number) => {
    let start = from;
    let end = to;
    while (start < end && isSpace(json[start])) start++;
    while (end > start && isSpace(json[end - 1])) end--;
    if (start < end) parts.push({ start, end });
    from = to + 1;
  };
  for (let i = 0; i < json.length; i++) {
    const byte = json[i];
    if (byte === QUOTE) i = endOfString(json, i) - 1;
    else if (byte === 0x5b /* [ */ || byte === 0x7b /* { */) {
      if (depth++ === 0) from = i + 1;
    } else if (byte === 0x5d /* ] */ || byte === 0x7d /* } */) {
      if (--depth === 0) close(i);
    } else if (byte === COMMA && depth === 1) close(i);
  }
  return parts;
}

/** The string whose token, quotes included, is `[start, end)`. */
function stringAt(json: Buffer, start: number, end: number): string {
  const raw = json.toString('utf8', start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(json.toString('utf8', start, end)) as string) : raw;
}

/** Where the value of a member begins; it ends where the member does. */
export function valueStartOf(json: Buffer, member: Part): number {
  let start = json.indexOf(COLON, endOfString(json, member.start)) + 1;
  while (isSpace(json[start])) start++;
  return start;
}

/** A name that JavaScript takes for a number: such properties come first in an object, whatever the order in the text. */
const INDEX_LIKE = /^\d+$/;

/**
 * The members of a JSON object in their order, of a name that occurs twice all of them. The bytes must be a valid JSON object in
 * UTF-8; `parsed` is what JSON.parse made of it, and saves reading the names again.
 */
export function objectMembers(json: Buffer, parsed: object): Member[] {
  const parts = topLevelParts(json);
  const names = Object.keys(parsed);
  const inOrder = parts.length === names.length && !INDEX_LIKE.test(names[0] ?? '');
  return parts.map(({ start, end }, i) => ({
    name: (inOrder ? names[i] : undefined) ?? stringAt(json, start, endOfString(json, start)),
    start,
    end,
  }));
}
