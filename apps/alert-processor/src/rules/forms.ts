/** The forms that only rules have: lengths of time, conditions, expressions, fields, times. */
import { type FieldPath, fieldNamed, parseInstant } from '@tailrace/events';
import { parseDuration, printDuration } from './durations.ts';
import { fieldPath } from './field-path.ts';
import type { Condition } from './rule.ts';
import { meant, type Shape } from './shapes.ts';
import { compileExpression, type Test } from './where/compile.ts';
import { MAX_EXPRESSION_LENGTH } from './where/expression.ts';
import { parseExpression } from './where/parse.ts';
import { printExpression } from './where/print.ts';

export function duration(minMs: number, maxMs: number): Shape<number> {
  const words = `a length of time from ${printDuration(minMs)} to ${printDuration(maxMs)}, like 30s, 5m, 1h or 1d`;
  return meant(words, { type: 'string', pattern: '^[1-9][0-9]{0,8}[smhd]$' }, (text) => {
    const ms = parseDuration(text);
    return ms !== undefined && ms >= minMs && ms <= maxMs
      ? { value: ms }
      : { problem: `This must be ${words}, and ${JSON.stringify(text)} is not.` };
  });
}

const CONDITION = /^(>=|<=|>|<)[ ]*(-?[0-9]{1,15}(?:\.[0-9]{1,15})?)$/;

export const condition: Shape<Condition> = meant(
  'a comparison with a number, in quotes, like "> 100"',
  { type: 'string', pattern: CONDITION.source },
  (text) => {
    const [, operator, threshold] = CONDITION.exec(text.trim()) ?? [];
    if (operator === undefined)
      return { problem: `This must be one of > >= < <= and a number, like "> 100", and ${JSON.stringify(text)} is not.` };
    return { value: { operator: operator as Condition['operator'], threshold: Number(threshold) } };
  },
);

/** An expression that was understood: what it tests, and how it is printed. */
export interface ReadExpression {
  readonly test: Test;
  readonly canonical: string;
}

export const expression: Shape<ReadExpression> = meant(
  'an expression, like status_code >= 500 and service = "shop"',
  { type: 'string', minLength: 1, maxLength: MAX_EXPRESSION_LENGTH },
  (text) => {
    const parsed = parseExpression(text);
    if ('problems' in parsed) return parsed;
    return { value: { test: compileExpression(parsed.expression), canonical: printExpression(parsed.expression) } };
  },
);

const MAX_FIELD_LENGTH = 256;

function fieldShape(words: string, fits: (path: FieldPath) => boolean): Shape<FieldPath> {
  return meant(words, { type: 'string', minLength: 1, maxLength: MAX_FIELD_LENGTH }, (text) => {
    if (text.length > MAX_FIELD_LENGTH) return { problem: `The name of a field has at most ${MAX_FIELD_LENGTH} characters.` };
    const path = fieldPath(text);
    if ('problem' in path) return path;
    return fits(path) ? { value: path } : { problem: `This must be ${words}, and ${text} is not.` };
  });
}

export const field = fieldShape('a field of the event or attributes.NAME', () => true);

export const numberField = fieldShape('a field that is a number (latency_ms, bytes, status_code), or attributes.NAME', (path) => {
  const kind = 'known' in path ? fieldNamed(path.known)?.kind : 'number';
  return kind === 'number' || kind === 'integer';
});

export const instant: Shape<number> = meant(
  'a time with its zone, like 2026-03-01T09:00:00Z',
  { type: 'string', format: 'date-time' },
  (text) => {
    const parsed = parseInstant(text);
    return parsed === undefined
      ? { problem: `A time is written with its zone, like 2026-03-01T09:00:00Z: ${JSON.stringify(text)} is not.` }
      : { value: parsed.epochMs };
  },
);

export const webAddress: Shape<string> = meant(
  'an address that starts with https:// or http://',
  { type: 'string', maxLength: 2048, pattern: '^https?://' },
  (text) =>
    text.length <= 2048 && /^https?:\/\//.test(text) && URL.canParse(text)
      ? { value: text }
      : { problem: `This must be an address that starts with https:// or http://, and ${JSON.stringify(text.slice(0, 80))} is not.` },
);
