/** One comparison of an event's field with a value: what filters and rules are made of. */
import { ATTRIBUTE_PREFIX, comparableFields, type FieldPath, fieldNamed, fieldValue } from './field-value.ts';
import { type Instant, parseInstant } from './instant.ts';

export const OPERATORS = ['=', '!=', '<', '<=', '>', '>='] as const;
const EQUALITY = ['=', '!='] as const;

export type Operator = (typeof OPERATORS)[number];

/** What the value of a field is held against. A value of another type never matches. */
export type Operand =
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'instant'; readonly value: Instant };

export interface Comparison {
  readonly field: FieldPath;
  readonly operator: Operator;
  readonly operand: Operand;
}

/** A value as it was written; of an attribute, what stands in quotes is text. */
export interface WrittenValue {
  readonly text: string;
  readonly inQuotes: boolean;
}

/** A number as JSON has it. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Understands `name operator value`. A problem is one sentence that names what would fit. */
export function readComparison(name: string, operator: Operator, value: WrittenValue): Comparison | { readonly problem: string } {
  const understood = readOperand(name, value);
  if ('problem' in understood) return understood;
  const { field, operand } = understood;
  const fitting: readonly string[] = operand.kind === 'number' || operand.kind === 'instant' ? OPERATORS : EQUALITY;
  if (fitting.includes(operator)) return { field, operator, operand };
  const written = value.inQuotes ? JSON.stringify(value.text) : value.text;
  return { problem: `${name} ${operator} ${written} can not be told: texts are compared with ${EQUALITY.join(' and ')} only.` };
}

/**
 * Whether the comparison holds for the event. False, with `!=` too, where there is nothing to compare: a field that is absent, null or of another
 * type (as a comparison with NULL in SQL). Never throws.
 */
export function comparisonHolds({ field, operator, operand }: Comparison, event: unknown): boolean {
  const order = compare(fieldValue(event, field), operand);
  if (order === undefined) return false;
  switch (operator) {
    case '=':
      return order === 0;
    case '!=':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
  }
}

/** A field by its name: one of the table that holds one value, or `attributes.NAME`. */
export function readFieldPath(name: string): FieldPath | { readonly problem: string } {
  if (name.startsWith(ATTRIBUTE_PREFIX)) {
    const attribute = name.slice(ATTRIBUTE_PREFIX.length);
    return attribute === '' ? { problem: `Name the attribute, as ${ATTRIBUTE_PREFIX}NAME.` } : { attribute };
  }
  const known = fieldNamed(name);
  if (known === undefined)
    return { problem: `There is no field ${quoted(name)}: name one of ${comparableFields.join(', ')}, or ${ATTRIBUTE_PREFIX}NAME.` };
  return known.kind === 'object' ? { problem: `${name} is an object: name what is in it, as ${name}.NAME.` } : { known: name };
}

/** Text in quotes, cut where it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

type Understood = Pick<Comparison, 'field' | 'operand'> | { readonly problem: string };

function readOperand(name: string, value: WrittenValue): Understood {
  const field = readFieldPath(name);
  if ('problem' in field) return field;
  return 'known' in field ? fieldOperand(name, value) : { field, operand: attributeOperand(value) };
}

function fieldOperand(name: string, { text }: WrittenValue): Understood {
  const field = { known: name };
  const known = fieldNamed(name);
  switch (known?.kind) {
    case 'number':
    case 'integer': {
      const value = NUMBER.test(text) ? Number(text) : Number.NaN;
      if (!Number.isFinite(value)) return { problem: `${name} is a number, and ${quoted(text)} is none.` };
      return { field, operand: { kind: 'number', value } };
    }
    case 'instant': {
      const value = parseInstant(text);
      if (value === undefined) return { problem: `${name} is a time: write it with its zone, like 2026-03-01T09:00:00Z.` };
      return { field, operand: { kind: 'instant', value } };
    }
    case 'enum':
      if (!known.values.includes(text)) return { problem: `${name} is one of ${known.values.join(', ')}, and never ${quoted(text)}.` };
      return { field, operand: { kind: 'text', value: text } };
    default:
      return { field, operand: { kind: 'text', value: text } };
  }
}

/** An attribute has no declared type: a bare number, true or false is meant as such, anything else as text. */
function attributeOperand({ text, inQuotes }: WrittenValue): Operand {
  if (!inQuotes && NUMBER.test(text) && Number.isFinite(Number(text))) return { kind: 'number', value: Number(text) };
  if (!inQuotes && (text === 'true' || text === 'false')) return { kind: 'boolean', value: text === 'true' };
  return { kind: 'text', value: text };
}

/** Below 0, 0 or above 0, as in a sort; undefined where the value is of another type. Of texts and booleans only 0 says anything. */
function compare(found: unknown, operand: Operand): number | undefined {
  switch (operand.kind) {
    case 'text':
      return typeof found === 'string' ? Number(found !== operand.value) : undefined;
    case 'boolean':
      return typeof found === 'boolean' ? Number(found !== operand.value) : undefined;
    case 'number':
      // JSON has no Infinity, but JSON.parse makes one of 1e400.
      return typeof found === 'number' && Number.isFinite(found) ? order(found, operand.value) : undefined;
    case 'instant': {
      const instant = typeof found === 'string' ? parseInstant(found) : undefined;
      if (instant === undefined) return undefined;
      return order(instant.epochMs, operand.value.epochMs) || order(instant.nanosOfMs, operand.value.nanosOfMs);
    }
  }
}

function order(a: number, b: number): number {
  return a < b ? -1 : Number(a > b);
}
