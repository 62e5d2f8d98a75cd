/** `condition: > 5` without quotes: `>` begins a folded text in YAML, so what stands behind it in the line is a fault, or is lost. */
import { type Document, isScalar, visit } from 'yaml';

export const IN_QUOTES = 'Put the condition in quotes, like "> 100": without them YAML takes > for something else.';

export interface Unquoted {
  readonly at: number;
  readonly length: number;
}

/** A condition may be a folded text, which then begins in the next line. */
const FOLDED = /^>[-+]?[ \t]*(?:#.*)?$/;

/** Where the conditions of a parsed text stand that should be in quotes, in their order. */
export function unquotedConditions(document: Document, text: string): readonly Unquoted[] {
  const found: Unquoted[] = [];
  // Most files have none, and need not be walked through.
  if (!/condition["']?:[ \t]*>/.test(text)) return found;
  visit(document, {
    Pair(_, { key, value }) {
      if (!isScalar(key) || key.value !== 'condition' || !isScalar(value) || value.type !== 'BLOCK_FOLDED') return;
      const at = value.range?.[0] ?? 0;
      const [line = ''] = text.slice(at, at + MAX_LINE).split(/\r?\n/, 1);
      if (!FOLDED.test(line)) found.push({ at, length: line.replace(/[ \t]+#.*$/, '').trimEnd().length });
    },
  });
  return found;
}

/** Longer is no condition. */
const MAX_LINE = 200;

/** The text with these in quotes: what else is wrong with it can then be told, too. Lines stay where they are. */
export function inQuotes(text: string, conditions: readonly Unquoted[]): string {
  let mended = '';
  let from = 0;
  for (const { at, length } of conditions) {
    mended += `${text.slice(from, at)}${JSON.stringify(text.slice(at, at + length))}`;
    from = at + length;
  }
  return mended + text.slice(from);
}
