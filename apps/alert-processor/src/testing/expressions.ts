/** Random expressions and events for the property tests. */
import { readComparison, readFieldPath } from '@tailrace/events';
import fc from 'fast-check';
import type { Expression, Written } from '../rules/where/expression.ts';

const TEXTS = ['', 'shop', '/health', 'a "quoted" \\ text', '500', 'true', 'é\u0000\ud800', '__proto__'];
const NUMBERS = ['0', '-0', '200', '500', '5e2', '12.5', '-1e-7', '1e21'];
const TIMES = ['2026-03-01T09:00:00Z', '2026-03-01T09:00:00.000000001+02:00', '0000-01-01T00:00:00+01:00'];
const ATTRIBUTES = [
  'attributes.plan',
  'attributes.a b',
  'attributes.a.b',
  'attributes.5xx',
  'attributes.constructor',
  'attributes.service',
  'attributes."',
];

function written(name: string, operator: '=' | '!=' | '<' | '<=' | '>' | '>=', text: string, inQuotes: boolean): Written {
  const comparison = readComparison(name, operator, { text, inQuotes });
  if ('problem' in comparison) throw new Error(comparison.problem);
  return { ...comparison, text };
}

const equality = fc.constantFrom('=' as const, '!=' as const);
const anyOperator = fc.constantFrom('=' as const, '!=' as const, '<' as const, '<=' as const, '>' as const, '>=' as const);
const comparison = fc.oneof(
  fc
    .tuple(fc.constantFrom('service', 'endpoint', ...ATTRIBUTES), equality, fc.constantFrom(...TEXTS))
    .map(([n, o, t]) => written(n, o, t, true)),
  fc
    .tuple(fc.constantFrom('status_code', 'latency_ms', ...ATTRIBUTES), anyOperator, fc.constantFrom(...NUMBERS))
    .map(([n, o, t]) => written(n, o, t, false)),
  fc.tuple(fc.constantFrom(...ATTRIBUTES), equality, fc.constantFrom('true', 'false')).map(([n, o, t]) => written(n, o, t, false)),
  fc.tuple(anyOperator, fc.constantFrom(...TIMES)).map(([o, t]) => written('timestamp', o, t, true)),
  equality.map((o) => written('level', o, 'error', true)),
);

const field = (name: string) => {
  const path = readFieldPath(name);
  if ('problem' in path) throw new Error(path.problem);
  return path;
};
const textField = fc.constantFrom('service', 'endpoint', 'message', ...ATTRIBUTES).map(field);

/** What the parser makes of nested lists of one kind. */
function listOf(kind: 'and' | 'or', parts: readonly Expression[]): Expression {
  return { kind, parts: parts.flatMap((part) => (part.kind === kind ? part.parts : [part])) };
}

export const { expression } = fc.letrec<{ readonly expression: Expression }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    comparison.map((each): Expression => ({ kind: 'comparison', comparison: each })),
    fc
      .tuple(fc.constantFrom(...ATTRIBUTES), fc.array(fc.constantFrom(...TEXTS, ...NUMBERS), { minLength: 1, maxLength: 4 }), fc.boolean())
      .map(([name, [first = '', ...others], inQuotes]): Expression => {
        const one = (text: string) => written(name, '=', text, inQuotes || !NUMBERS.includes(text));
        return { kind: 'in', comparisons: [one(first), ...others.map(one)] };
      }),
    fc
      .constantFrom('service', 'status_code', 'timestamp', ...ATTRIBUTES)
      .map((name): Expression => ({ kind: 'exists', field: field(name) })),
    fc
      .tuple(fc.constantFrom('starts_with' as const, 'contains' as const), textField, fc.constantFrom(...TEXTS))
      .map(([kind, path, text]): Expression => ({ kind, field: path, text })),
    tie('expression').map((part): Expression => ({ kind: 'not', part })),
    fc
      .tuple(fc.constantFrom('and' as const, 'or' as const), fc.array(tie('expression'), { minLength: 2, maxLength: 4 }))
      .map(([kind, parts]) => listOf(kind, parts)),
  ),
}));

const anything = fc.oneof(
  fc.constantFrom(...TEXTS, ...TIMES, 'error', 200, 500, 12.5, 0, -0, true, false, null, Number.POSITIVE_INFINITY, [], {}),
  fc.jsonValue({ maxDepth: 1 }),
);
const NAMES = [
  'timestamp',
  'service',
  'endpoint',
  'status_code',
  'latency_ms',
  'level',
  'message',
  'attributes',
  'plan',
  'a b',
  'a.b',
  '5xx',
  'constructor',
  '"',
];

/** Whatever may stand in a record: fields of any type, attributes that are none. */
export const event = fc.dictionary(fc.constantFrom(...NAMES), fc.oneof(anything, fc.dictionary(fc.constantFrom(...NAMES), anything)), {
  noNullPrototype: true,
});
