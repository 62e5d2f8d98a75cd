import { parseInstant } from '@tailrace/events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { event, expression } from '../../testing/expressions.ts';
import type { EventObject } from '../rule.ts';
import { compileExpression } from './compile.ts';
import { type Expression, MAX_EXPRESSION_DEPTH, MAX_EXPRESSION_LENGTH, type Written } from './expression.ts';
import { parseExpression } from './parse.ts';
import { printExpression } from './print.ts';

function parsed(text: string): Expression {
  const read = parseExpression(text);
  if ('problems' in read) throw new Error(read.problems.map(({ at, problem }) => `${at}: ${problem}`).join('; '));
  return read.expression;
}

const holds = (text: string, of: EventObject) => compileExpression(parsed(text))(of);

describe('an expression', () => {
  const shop = {
    service: 'shop',
    endpoint: '/v1/pay',
    status_code: 503,
    latency_ms: 12.5,
    level: 'error',
    attributes: { plan: 'pro', retry: true, 'a b': 3 },
  };
  it.each([
    ['status_code >= 500', true],
    ['status_code >= 500 and not (endpoint = "/health")', true],
    ['status_code < 500 or level = "error"', true],
    ['status_code < 500 or level = "warn"', false],
    ['not status_code >= 500', false],
    ['service in ("cart", "shop")', true],
    ['service in ("cart")', false],
    ['status_code in (500, 503)', true],
    ['exists(latency_ms) and not exists(region)', true],
    ['starts_with(endpoint, "/v1/") and contains(endpoint, "pay")', true],
    ['attributes.plan = "pro" and attributes.retry = true and attributes."a b" = 3', true],
    ['attributes."a b" in ("3", 3)', true],
    ['attributes.plan = "Pro"', false],
    // "and" binds more than "or", "not" more than "and".
    ['level = "error" or level = "warn" and service = "cart"', true],
    ['(level = "error" or level = "warn") and service = "cart"', false],
    ['not level = "error" or service = "shop"', true],
  ])('%s', (text, wanted) => {
    expect(holds(text, shop)).toBe(wanted);
  });

  it.each([
    // A comparison with nothing does not hold, with != neither; "not" turns that round.
    ['endpoint = "/health"', false],
    ['endpoint != "/health"', false],
    ['not (endpoint = "/health")', true],
    ['not (endpoint != "/health")', true],
    ['not (status_code < 500)', true],
    ['exists(endpoint)', false],
  ])('%s is %s where the field is absent, null or of another type', (text, wanted) => {
    for (const absent of [{}, { endpoint: null, status_code: null }]) expect(holds(text, absent)).toBe(wanted);
    if (!text.startsWith('exists')) expect(holds(text, { endpoint: 5, status_code: '503' })).toBe(wanted);
  });

  it('exists() is about anything but null', () => {
    for (const service of [5, '', false, [], {}]) expect(holds('exists(service)', { service })).toBe(true);
  });

  it.each([
    ['', 0, 'The expression is empty'],
    ['status_code', 11, 'A comparison is expected behind status_code: one of = != < <= > >=, or in (…).'],
    ['status_code > 500 AND level = "error"', 18, '"AND" is too much here: join comparisons with "and" or "or". (In small letters: and.)'],
    ['status_code == 500', 13, 'A number, true, false or a text in double quotes is expected, and there is "="'],
    ['status = 5', 0, 'There is no field "status": name one of timestamp,'],
    ['attributes = 5', 0, 'attributes is an object: name what is in it, as attributes.NAME.'],
    ['service = shop', 10, 'Put the text shop in double quotes.'],
    ['service = 5', 10, 'Put the text 5 in double quotes.'],
    ['service = true', 10, 'Put the text true in double quotes.'],
    ["service = 'shop'", 10, `"'" has no meaning here: text stands in double quotes`],
    ['service = "shop', 10, 'A text in double quotes is written as in JSON'],
    ['service > "shop"', 0, 'texts are compared with = and != only'],
    ['status_code = "x"', 0, 'status_code is a number, and "x" is none.'],
    ['status_code = 0500', 0, 'status_code is a number, and "0500" is none.'],
    ['attributes.n = 5x', 15, 'Put the text 5x in double quotes.'],
    ['timestamp > "2026-02-30T00:00:00Z"', 0, 'timestamp is a time: write it with its zone'],
    ['level = "eror"', 0, 'level is one of trace,'],
    ['(status_code > 5', 16, '")" is expected, and the expression ends'],
    ['status_code > 5)', 15, '")" is too much here'],
    [
      'matches(service, "x")',
      0,
      'There is no matches(…): there are exists(field), starts_with(field, "text") and contains(field, "text").',
    ],
    ['starts_with(status_code, "5")', 12, 'starts_with looks into texts, and status_code is none.'],
    ['starts_with(service)', 19, '"," is expected, and there is ")"'],
    ['contains(service, 5)', 18, 'A text in double quotes is expected'],
    ['service in ()', 12, 'A number, true, false or a text in double quotes is expected'],
    ['service in "a"', 11, '"(" is expected'],
    ['not', 3, 'A field is expected, and the expression ends'],
    ['and = 5', 0, 'There is no field "and"'],
  ])('%s is refused at %d', (text, at, problem) => {
    expect(parseExpression(text)).toEqual({ problems: [{ at, problem: expect.stringContaining(problem) }] });
  });

  it.each([
    ['statuscode >= 500 and sevrice = "shop"', 'statuscode', 'sevrice'],
    ['not (servce = "a") or exists(enpoint) and level = "eror"', 'servce', 'enpoint', 'level'],
    ['hots in ("a", "b") and status_code = "x" and service = 5 and contains(latency_ms, "x")', 'hots', 'status_code', '5', 'latency_ms'],
    // What is no expression any more ends it.
    ['sevrice = "shop" and status_code', 'sevrice', ''],
  ])('%s is told of every field in it', (text, ...where) => {
    const read = parseExpression(text);
    const ats = 'problems' in read ? read.problems.map(({ at }) => at) : [];
    expect(ats).toEqual(where.map((word) => (word === '' ? text.length : text.indexOf(word))));
  });

  it.each([
    ['sevrice = "shop"', 'There is no field "sevrice" (did you mean service?): name one of timestamp, '],
    ['statuscode = 5', 'There is no field "statuscode" (did you mean status_code?): name one of'],
    ['exists(Latency_ms)', 'There is no field "Latency_ms" (did you mean latency_ms?): name one of'],
    ['atributes.provider = "acme"', 'There is no field "atributes.provider" (did you mean attributes.provider?): name one of'],
    ['xyz = 5', 'There is no field "xyz": name one of'],
  ])('%s: the field that is meant', (text, problem) => {
    expect(parseExpression(text)).toEqual({ problems: [{ at: expect.any(Number), problem: expect.stringContaining(problem) }] });
  });

  it('is bounded in length and depth', () => {
    const deep = (n: number) => `${'not '.repeat(n)}service = "a"`;
    expect(parseExpression(deep(MAX_EXPRESSION_DEPTH))).toHaveProperty('expression');
    expect(parseExpression(deep(MAX_EXPRESSION_DEPTH + 1))).toHaveProperty('problems.0.problem', expect.stringContaining('At most 64'));
    expect(parseExpression('('.repeat(4000))).toHaveProperty('problems.0.problem', expect.stringContaining('At most 64'));
    expect(parseExpression(`service = "${'x'.repeat(MAX_EXPRESSION_LENGTH)}"`)).toHaveProperty(
      'problems.0.problem',
      expect.stringContaining('at most 4096'),
    );
    // Many beside each other are not deep.
    expect(parseExpression(Array.from({ length: 100 }, () => '(service = "a")').join(' or '))).toHaveProperty('expression');
  });
});

/** The meaning of an expression, told once more in the plainest way. */
function naive(part: Expression, of: EventObject): boolean {
  switch (part.kind) {
    case 'and':
      return part.parts.filter((each) => naive(each, of)).length === part.parts.length;
    case 'or':
      return part.parts.filter((each) => naive(each, of)).length > 0;
    case 'not':
      return !naive(part.part, of);
    case 'comparison':
      return naiveComparison(part.comparison, of);
    case 'in':
      return part.comparisons.filter((each) => naiveComparison(each, of)).length > 0;
    case 'exists':
      return ![undefined, null].includes(naiveValue(part.field, of) as undefined);
    case 'starts_with':
    case 'contains': {
      const value = naiveValue(part.field, of);
      if (typeof value !== 'string') return false;
      return part.kind === 'contains'
        ? value.split(part.text).length > 1 || part.text === ''
        : value.slice(0, part.text.length) === part.text;
    }
  }
}

function naiveValue(path: Written['field'], of: EventObject): unknown {
  const own = (object: unknown, name: string) => Object.entries((object ?? {}) as object).find(([key]) => key === name);
  if ('known' in path) return own(of, path.known)?.[1];
  const { attributes } = of;
  const isObject = typeof attributes === 'object' && !Array.isArray(attributes);
  const inside = isObject ? own(attributes, path.attribute) : undefined;
  const fields = ['timestamp', 'service', 'endpoint', 'status_code', 'latency_ms', 'level', 'message', 'attributes'];
  return (inside ?? (fields.includes(path.attribute) ? undefined : own(of, path.attribute)))?.[1];
}

function naiveComparison({ field, operator, operand, text }: Written, of: EventObject): boolean {
  const value = naiveValue(field, of);
  const nanos = (time: string): bigint | undefined => {
    const instant = parseInstant(time);
    return instant === undefined ? undefined : BigInt(instant.epochMs) * 1_000_000n + BigInt(instant.nanosOfMs);
  };
  const types = { text: 'string', instant: 'string', number: 'number', boolean: 'boolean' } as const;
  if (typeof value !== types[operand.kind]) return false;
  const [a, b] = operand.kind === 'instant' ? [nanos(String(value)), nanos(text)] : [value, operand.value];
  if (a === undefined || b === undefined || typeof a === 'object' || typeof b === 'object') return false;
  if (Math.abs(Number(value)) === Number.POSITIVE_INFINITY && operand.kind === 'number') return false;
  const results = { '=': a === b, '!=': a !== b, '<': a < b, '<=': a <= b, '>': a > b, '>=': a >= b };
  return results[operator];
}

describe('any expression', () => {
  it('is printed so that it is read as the same', () => {
    fc.assert(
      fc.property(expression, (given) => {
        const text = printExpression(given);
        fc.pre(text.length <= MAX_EXPRESSION_LENGTH);
        expect(printExpression(parsed(text))).toBe(text);
        expect(meaning(parsed(text))).toBe(meaning(given));
      }),
      { numRuns: 500 },
    );
  });

  it('means what the plainest interpreter says, for any event', () => {
    fc.assert(
      fc.property(expression, event, (given, of) => {
        expect(compileExpression(given)(of)).toBe(naive(given, of));
      }),
      { numRuns: 3000 },
    );
  });

  it('of any text is read or refused with a place in it, and nothing is thrown', () => {
    const words = fc.constantFrom(
      'and',
      'or',
      'not',
      'in',
      '(',
      ')',
      ',',
      '=',
      '!=',
      '<=',
      '>',
      'service',
      'status_code',
      'attributes.x',
      'attributes."',
      '"a"',
      '"',
      '5',
      '-',
      'exists',
      'contains',
      'true',
    );
    const soup = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(words).map((each) => each.join(' ')),
      fc.array(words).map((each) => each.join('')),
    );
    fc.assert(
      fc.property(soup, (text) => {
        const read = parseExpression(text);
        if ('problems' in read) {
          for (const { at, problem } of read.problems) {
            expect(at).toBeGreaterThanOrEqual(0);
            expect(at).toBeLessThanOrEqual(text.length);
            expect(problem).not.toBe('');
          }
        } else expect(printExpression(parsed(printExpression(read.expression)))).toBe(printExpression(read.expression));
      }),
      { numRuns: 3000 },
    );
  });
});

/** Without how numbers were written: 5e2 is 500. */
function meaning(given: Expression): string {
  return JSON.stringify(given, function (this: Partial<Written>, key, value: unknown) {
    if (key === 'text' && this.operand !== undefined && this.operand.kind !== 'instant') return undefined;
    return typeof value === 'bigint' ? String(value) : value;
  });
}
