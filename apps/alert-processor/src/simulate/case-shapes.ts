/** The forms that only test cases have. */
import { isMap, isScalar, isSeq } from 'yaml';
import { condition } from '../rules/forms.ts';
import type { Condition } from '../rules/rule.ts';
import type { Shape } from '../rules/shapes.ts';
import { type Bounds, bounds } from './moments.ts';

/** Values inside of one event. */
const MAX_VALUES = 1000;
const MAX_DEPTH = 32;

function scalarOf(node: unknown): unknown {
  return isScalar(node) ? node.value : undefined;
}

/** What a node means as JSON; undefined where it is too large or too deep. */
function plainValue(found: unknown, left: { values: number }, depth: number): unknown {
  // Too deep counts as too many.
  left.values = depth > MAX_DEPTH ? 0 : left.values;
  if (--left.values < 0) return undefined;
  if (isScalar(found)) return found.value ?? null;
  if (isSeq(found)) return found.items.map((item) => plainValue(item, left, depth + 1));
  if (!isMap(found)) return null;
  return Object.fromEntries(found.items.map(({ key, value }) => [String(scalarOf(key)), plainValue(value, left, depth + 1)]));
}

/** The fields of an event: any map. */
export const eventFields: Shape<Readonly<Record<string, unknown>>> = {
  words: `a map of an event’s fields, with at most ${MAX_VALUES} values`,
  schema: { type: 'object' },
  read: (node, reading) => {
    const left = { values: MAX_VALUES };
    const value = isMap(node) ? plainValue(node, left, 0) : undefined;
    if (value !== undefined && left.values >= 0) return value as Readonly<Record<string, unknown>>;
    reading.problem(node, `This must be ${eventFields.words}.`);
    return undefined;
  },
};

export const flag: Shape<boolean> = {
  words: 'true or false',
  schema: { type: 'boolean' },
  read: (node, reading) => {
    const value = scalarOf(node);
    if (typeof value === 'boolean') return value;
    reading.problem(node, `This must be ${flag.words}.`);
    return undefined;
  },
};

/** When an alert ends, or that it goes on. */
export const boundsOrNever: Shape<Bounds | 'never'> = {
  words: `${bounds.words}, or never`,
  schema: { type: 'string' },
  read: (node, reading) => (scalarOf(node) === 'never' ? 'never' : bounds.read(node, reading)),
};

/** The value that a firing has: exactly that number, or one for which a comparison holds. */
export const expectedValue: Shape<number | Condition> = {
  words: 'a number, or a comparison in quotes, like ">= 30"',
  schema: { type: ['number', 'string'] },
  read: (node, reading) => {
    const value = scalarOf(node);
    return typeof value === 'number' ? value : condition.read(node, reading);
  },
};
