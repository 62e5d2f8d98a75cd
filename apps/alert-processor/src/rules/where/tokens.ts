import type { ExpressionProblem } from './expression.ts';

/** One word of an expression. `text` of a name and of a string is what it stands for, without quotes. */
export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'operator' | 'sign' | 'end';
  readonly text: string;
  readonly at: number;
}

/** A name in quotes holds what the bare form can not: `attributes."HTTP status"`. */
const QUOTED_ATTRIBUTE = /attributes\.("(?:[^"\\]|\\.)*")/y;
/** Without look-behind and without nested repeats: each is one pass over the text. */
const FORMS = [
  ['name', /[A-Za-z_][A-Za-z0-9_.-]*/y],
  ['number', /-?[0-9][0-9A-Za-z.+-]*/y],
  ['string', /"(?:[^"\\]|\\.)*"/y],
  ['operator', /!=|<=|>=|=|<|>/y],
  ['sign', /[(),]/y],
] as const;
const BLANK = /\s+/y;

/** Cuts an expression into words, with one `end` behind the last. */
export function tokensOf(text: string): readonly [Token, ...Token[]] | ExpressionProblem {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at += matched(BLANK, text, at)?.length ?? 0;
    if (at >= text.length) break;
    const token = tokenAt(text, at);
    if ('problem' in token) return token;
    tokens.push(token);
    at += token.length;
  }
  const end: Token = { kind: 'end', text: '', at: text.length };
  const [first, ...rest] = tokens;
  return first === undefined ? [end] : [first, ...rest, end];
}

function tokenAt(text: string, at: number): (Token & { readonly length: number }) | ExpressionProblem {
  const attribute = matched(QUOTED_ATTRIBUTE, text, at);
  if (attribute !== undefined) {
    const name = stringOf(attribute.slice('attributes.'.length));
    return name === undefined ? badString(at) : { kind: 'name', text: `attributes.${name}`, at, length: attribute.length };
  }
  for (const [kind, form] of FORMS) {
    const found = matched(form, text, at);
    if (found === undefined) continue;
    const value = kind === 'string' ? stringOf(found) : found;
    return value === undefined ? badString(at) : { kind, text: value, at, length: found.length };
  }
  const sign = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (sign === '"') return badString(at);
  return { problem: `${JSON.stringify(sign)} has no meaning here: text stands in double quotes, and comparisons are = != < <= > >=.`, at };
}

function badString(at: number): ExpressionProblem {
  return { problem: 'A text in double quotes is written as in JSON: it ends with ", and inside \\" stands for " and \\\\ for \\.', at };
}

function stringOf(quoted: string): string | undefined {
  try {
    const value: unknown = JSON.parse(quoted);
    return typeof value === 'string' ? value : undefined;
  } catch {
    // Safe: the caller says what is wrong.
    return undefined;
  }
}

function matched(form: RegExp, text: string, at: number): string | undefined {
  form.lastIndex = at;
  return form.exec(text)?.[0];
}
