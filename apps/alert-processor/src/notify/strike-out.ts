const STRUCK_OUT = '(secret)';
/** Of a text more is not looked through; what is shown of it is far shorter. */
const LOOKED_THROUGH_UNITS = 16_384;
/** An escape within an escape (JSON within HTML) is seen too. */
const DECODINGS = 2;
/** How much of a secret must stand at the end of a text to be taken for one that was cut. */
const CUT_UNITS = 8;

/** What is to be struck out, in lower case and in UTF-8 as Latin-1. `word`: with all of the base64 around it. */
export interface Form {
  readonly bytes: string;
  readonly word: boolean;
}

/** A text as somebody reads it, and where each of its units ends in the text; unit i begins where i - 1 ends. */
interface View {
  readonly bytes: string;
  readonly ends: readonly number[];
}

/** The form in which texts and secrets are compared. */
export function comparable(text: string): string {
  return Buffer.from(text.replaceAll(/[\p{C}\s]+/gu, ' '), 'utf8')
    .toString('latin1')
    .toLowerCase();
}

/**
 * The text without the secrets, also where they are escaped for a URL, HTML or JSON, overlap, or were cut at its end. All that is found is found in the
 * whole text first: striking out one secret must not leave the rest of another.
 */
export function strikeOut(text: string, forms: readonly Form[]): string {
  const looked = text.slice(0, LOOKED_THROUGH_UNITS);
  const struck = new Uint8Array(looked.length);
  let view = plainView(looked);
  for (let decodings = 0; decodings <= DECODINGS; decodings += 1) {
    if (decodings > 0) view = decoded(view);
    for (const form of forms) mark(view, form, looked, struck);
  }
  let shown = '';
  for (let at = 0; at < looked.length; at += 1) {
    if (struck[at] !== 1) shown += looked[at];
    else if (struck[at - 1] !== 1) shown += STRUCK_OUT;
  }
  return shown;
}

function mark(view: View, { bytes, word }: Form, text: string, struck: Uint8Array): void {
  const strike = (first: number, last: number): void => {
    let from = first === 0 ? 0 : (view.ends[first - 1] ?? 0);
    let to = view.ends[last] ?? text.length;
    while (word && from > 0 && /[\w+/=-]/.test(text[from - 1] ?? '')) from -= 1;
    while (word && to < text.length && /[\w+/=-]/.test(text[to] ?? '')) to += 1;
    struck.fill(1, from, to);
  };
  for (let at = view.bytes.indexOf(bytes); at >= 0; at = view.bytes.indexOf(bytes, at + 1)) strike(at, at + bytes.length - 1);
  const least = Math.min(CUT_UNITS, Math.ceil(bytes.length / 2));
  for (let length = Math.min(bytes.length - 1, view.bytes.length); length >= least; length -= 1) {
    if (!view.bytes.endsWith(bytes.slice(0, length))) continue;
    strike(view.bytes.length - length, view.bytes.length);
    return;
  }
}

function plainView(text: string): View {
  let bytes = '';
  const ends: number[] = [];
  for (const { 0: unit, index } of text.matchAll(/[\p{C}\s]+|./gsu)) {
    const seen = comparable(unit);
    bytes += seen;
    for (let each = 0; each < seen.length; each += 1) ends.push(index + unit.length);
  }
  return { bytes, ends };
}

/** Escapes of URLs, of HTML and of JSON; last, one that was cut at the end. */
const ESCAPE =
  /%([0-9a-f]{2})|&#(\d{1,7});|&#x([0-9a-f]{1,6});|&(amp|lt|gt|quot|apos|nbsp);|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|\\([^ux])|((?:%[0-9a-f]?|&#?\w{0,7}|\\[ux]?[0-9a-f]{0,3})$)/gs;
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

function decoded(view: View): View {
  let bytes = '';
  const ends: number[] = [];
  let at = 0;
  const take = (text: string, end: number): void => {
    for (const unit of text) {
      bytes += unit;
      ends.push(end);
    }
  };
  const copy = (to: number): void => {
    for (; at < to; at += 1) take(view.bytes[at] ?? '', view.ends[at] ?? 0);
  };
  for (const match of view.bytes.matchAll(ESCAPE)) {
    copy(match.index);
    at = match.index + match[0].length;
    take(meaning(match), view.ends[at - 1] ?? 0);
  }
  copy(view.bytes.length);
  return { bytes, ends };
}

function meaning([, percent, decimal, hex, name, unicode, latin, slashed]: RegExpMatchArray): string {
  if (percent !== undefined) return String.fromCharCode(Number.parseInt(percent, 16)).toLowerCase();
  if (name !== undefined) return NAMED[name] ?? '';
  if (slashed !== undefined) return slashed;
  const point = decimal === undefined ? Number.parseInt(hex ?? unicode ?? latin ?? '', 16) : Number(decimal);
  return point <= 0x10_ff_ff ? comparable(String.fromCodePoint(point)) : '';
}
