import { isUtf8 } from 'node:buffer';
import type { ServiceEvent } from './event.ts';
import { type Field, MAX_EVENT_BYTES, serviceEventFields } from './fields.ts';
import { isInstant } from './instant.ts';

/** Why an event is refused. `field` is null when the event as a whole is at fault. */
export interface Problem {
  readonly field: string | null;
  readonly reason: string;
}

export interface EventRules {
  /** An event without `customer_id` is refused. Else it is accepted and its record has no key. */
  readonly requireCustomerId?: boolean;
  /** The largest event in bytes; `MAX_EVENT_BYTES` when absent. */
  readonly maxBytes?: number;
}

export type CheckedEvent = { readonly event: ServiceEvent } | { readonly problem: Problem };

/** What is wrong with a present value, or undefined. One function per field, made once. */
type Check = (value: unknown) => string | undefined;

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function stringCheck(minLength: number, maxLength: number): Check {
  const empty = 'must not be empty';
  const long = `must have at most ${maxLength} characters`;
  return (value) => {
    if (typeof value !== 'string') return 'must be a string';
    if (value.length < minLength) return empty;
    // A character outside the basic plane has two UTF-16 units, so only a longer string needs counting.
    if (value.length > maxLength && (value.length > 2 * maxLength || characters(value) > maxLength)) return long;
    return undefined;
  };
}

function numberCheck(min: number, max: number, whole: boolean): Check {
  const type = whole ? 'must be an integer' : 'must be a finite number';
  const range = max === Number.POSITIVE_INFINITY ? `must be at least ${min}` : `must be from ${min} to ${max}`;
  return (value) => {
    // JSON has no Infinity, but JSON.parse makes one of 1e400.
    if (typeof value !== 'number' || !(whole ? Number.isInteger(value) : Number.isFinite(value))) return type;
    return value < min || value > max ? range : undefined;
  };
}

function checkOf(field: Field): Check {
  switch (field.kind) {
    case 'instant':
      return (value) =>
        typeof value === 'string' && isInstant(value)
          ? undefined
          : 'must be a real instant in RFC 3339 with a zone, like 2026-01-31T23:59:59.123Z';
    case 'string':
      return stringCheck(field.minLength ?? 0, field.maxLength ?? Number.POSITIVE_INFINITY);
    case 'number':
      return numberCheck(field.min ?? Number.NEGATIVE_INFINITY, field.max ?? Number.POSITIVE_INFINITY, false);
    case 'integer':
      return numberCheck(field.min, field.max, true);
    case 'enum': {
      const values = new Set<unknown>(field.values);
      const reason = `must be one of ${field.values.join(', ')}`;
      return (value) => (values.has(value) ? undefined : reason);
    }
    case 'object':
      return (value) => (typeof value === 'object' && !Array.isArray(value) ? undefined : 'must be an object');
  }
}

const checks: ReadonlyMap<string, Check> = new Map(serviceEventFields.map((field) => [field.name, checkOf(field)]));
const requiredNames = serviceEventFields.filter((field) => field.required).map((field) => field.name);
const NO_PROBLEMS: readonly Problem[] = [];

/**
 * Every way in which a parsed value fails to be a service event; empty when it is one. Fields outside the table are never a
 * problem, whatever they hold, and an optional field that is null counts as absent.
 */
export function validateEvent(parsed: unknown, rules: EventRules = {}): readonly Problem[] {
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return [{ field: null, reason: 'must be a JSON object' }];
  const event = parsed as Record<string, unknown>;
  let problems: Problem[] | undefined;
  for (const name in event) {
    const value = event[name];
    if (value === null || value === undefined) continue;
    const reason = checks.get(name)?.(value);
    if (reason !== undefined) {
      problems ??= [];
      problems.push({ field: name, reason });
    }
  }
  for (const name of requiredNames) {
    if (event[name] === undefined || event[name] === null) {
      problems ??= [];
      problems.push({ field: name, reason: 'is required' });
    }
  }
  if (rules.requireCustomerId === true && (event.customer_id === undefined || event.customer_id === null)) {
    problems ??= [];
    problems.push({ field: 'customer_id', reason: 'is required here' });
  }
  return problems ?? NO_PROBLEMS;
}

/**
 * Checks one event as it came over the wire and parses it. The bytes themselves are what is passed on, so they must be valid
 * UTF-8: a decoder would replace a bad byte in silence. A name that occurs twice is accepted, and its last value counts
 * (as JSON.parse has it) for the checks and the key; nesting is bounded only by the event's size.
 */
export function checkEventBytes(bytes: Buffer, rules: EventRules = {}): CheckedEvent {
  const maxBytes = rules.maxBytes ?? MAX_EVENT_BYTES;
  if (bytes.length > maxBytes) return { problem: { field: null, reason: `is larger than ${maxBytes} bytes` } };
  const text = bytes.toString('utf8');
  // Decoding puts U+FFFD in place of each bad byte, so text without one came from valid bytes (0.2 us cheaper than always asking).
  if (text.includes('\ufffd') && !isUtf8(bytes)) return { problem: { field: null, reason: 'is not valid UTF-8' } };
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // JSON.parse throws only for text that is not JSON, and quotes it in its message: the poster gets the fact, not its own text.
    return { problem: { field: null, reason: 'is not valid JSON' } };
  }
  const [problem] = validateEvent(parsed, rules);
  return problem === undefined ? { event: parsed as ServiceEvent } : { problem };
}
