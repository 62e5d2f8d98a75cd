/** One comparison that chooses events: what people write behind `--where`. No patterns and no scripts: what it costs is bounded by the event. */
import { isUtf8 } from 'node:buffer';
import { type Field, serviceEventFields } from './fields.ts';
import { type Instant, parseInstant } from './instant.ts';

const OPERATORS = ['=', '!=', '<', '<=', '>', '>='] as const;
const EQUALITY = ['=', '!='] as const;

type Operator = (typeof OPERATORS)[number];

/** What the value of a field is held against. A value of another type never matches. */
type Operand =
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'instant'; readonly value: Instant };

/** A comparison that `parseFilter` has understood. */
export interface EventFilter {
  /** As it was written: who keeps a filter keeps this. */
  readonly text: string;
  /** A field of the table, or the name of an attribute. */
  readonly field: { readonly known: string } | { readonly attribute: string };
  readonly operator: Operator;
  readonly operand: Operand;
}

export type ParsedFilter = { readonly filter: EventFilter } | { readonly problem: string };

const ATTRIBUTE = 'attributes.';
/** The longer operators first: `<` would leave the `=` of `<=` to the value. The name takes neither white space nor signs of comparison. */
const COMPARISON = /^([^\s=!<>"]+)\s*(!=|<=|>=|=|<|>)\s*(.*)$/su;
/** A number as JSON has it. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const MAX_FILTER_LENGTH = 4096;

const fields: ReadonlyMap<string, Field> = new Map(serviceEventFields.map((field) => [field.name, field]));
const comparable = [...fields.values()].filter(({ kind }) => kind !== 'object').map(({ name }) => name);

/**
 * Reads one comparison `field operator value`. `field` is one of the field table, or `attributes.NAME`; `operator` one of = != < <= > >=; the value is
 * bare (no white space) or a JSON string in double quotes. A problem is one sentence that names what would fit.
 */
export function parseFilter(text: string): ParsedFilter {
  if (text.length > MAX_FILTER_LENGTH) return { problem: `A filter has at most ${MAX_FILTER_LENGTH} characters.` };
  const [, name = '', operator, written = ''] = COMPARISON.exec(text.trim()) ?? [];
  if (operator === undefined)
    return {
      problem: `${quoted(text)} is no comparison: write a field, one of ${OPERATORS.join(' ')}, and a value, like status_code >= 500.`,
    };
  const value = readValue(written);
  if ('problem' in value) return value;
  const understood = name.startsWith(ATTRIBUTE) ? attributeOperand(name.slice(ATTRIBUTE.length), value) : fieldOperand(name, value);
  if ('problem' in understood) return understood;
  const { field, operand } = understood;
  const fitting: readonly string[] = operand.kind === 'number' || operand.kind === 'instant' ? OPERATORS : EQUALITY;
  if (!fitting.includes(operator))
    return { problem: `${name} ${operator} ${written} can not be told: texts are compared with ${EQUALITY.join(' and ')} only.` };
  return { filter: { text, field, operator: operator as Operator, operand } };
}

/**
 * Whether a record's value is an event for which the comparison holds. False, with `!=` too, where there is nothing to compare: no JSON object in UTF-8,
 * or a field that is absent, null or of another type (as a comparison with NULL in SQL). Of a name that occurs twice the last value counts.
 */
export function filterMatches({ field, operator, operand }: EventFilter, value: Buffer | null): boolean {
  if (value === null) return false;
  const text = value.toString('utf8');
  // Decoding puts U+FFFD in place of each bad byte.
  if (text.includes('\ufffd') && !isUtf8(value)) return false;
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    // Safe: JSON.parse throws only for text that is not JSON, and that is no event.
    return false;
  }
  const found = 'known' in field ? memberOf(event, field.known) : attributeOf(event, field.attribute);
  const order = compare(found, operand);
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

interface WrittenValue {
  readonly text: string;
  readonly inQuotes: boolean;
}

type Understood = Pick<EventFilter, 'field' | 'operand'> | { readonly problem: string };

function readValue(written: string): WrittenValue | { readonly problem: string } {
  if (!written.startsWith('"')) {
    if (written === '') return { problem: 'The value is missing; an empty text is written "".' };
    // `==` would else be a comparison with a text that begins with `=`.
    if (/^[=!<>~]|[\s"]/.test(written))
      return { problem: `Put the value ${quoted(written)} in double quotes; only one comparison may stand here.` };
    return { text: written, inQuotes: false };
  }
  try {
    const text: unknown = JSON.parse(written);
    if (typeof text === 'string') return { text, inQuotes: true };
  } catch {
    // Safe: what is wrong with it is said below.
  }
  return { problem: `${quoted(written)} is no text in double quotes as in JSON: inside, write \\" for " and \\\\ for \\.` };
}

function fieldOperand(name: string, { text }: WrittenValue): Understood {
  const known = fields.get(name);
  if (known === undefined)
    return { problem: `There is no field ${quoted(name)}: name one of ${comparable.join(', ')}, or ${ATTRIBUTE}NAME.` };
  const field = { known: name };
  switch (known.kind) {
    case 'object':
      return { problem: `${name} is an object: name what is in it, as ${name}.NAME.` };
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
    case 'string':
      return { field, operand: { kind: 'text', value: text } };
  }
}

/** An attribute has no declared type: a bare number, true or false is meant as such, anything else as text. */
function attributeOperand(attribute: string, { text, inQuotes }: WrittenValue): Understood {
  if (attribute === '') return { problem: `Name the attribute, as ${ATTRIBUTE}NAME.` };
  const field = { attribute };
  if (!inQuotes && NUMBER.test(text) && Number.isFinite(Number(text))) return { field, operand: { kind: 'number', value: Number(text) } };
  if (!inQuotes && (text === 'true' || text === 'false')) return { field, operand: { kind: 'boolean', value: text === 'true' } };
  return { field, operand: { kind: 'text', value: text } };
}

/** A member of its own: `constructor` is one of every object. */
function memberOf(object: unknown, name: string): unknown {
  if (typeof object !== 'object' || object === null || Array.isArray(object) || !Object.hasOwn(object, name)) return undefined;
  return (object as Record<string, unknown>)[name];
}

/** As in the index and in the lake: fields outside the table are found under `attributes`, and the event's own attributes win. */
function attributeOf(event: unknown, name: string): unknown {
  const attributes = memberOf(event, 'attributes');
  if (typeof attributes === 'object' && attributes !== null && Object.hasOwn(attributes, name)) return memberOf(attributes, name);
  return fields.has(name) ? undefined : memberOf(event, name);
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

function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
