import { createHash } from 'node:crypto';
import { ATTRIBUTE_PREFIX, type FieldPath, fieldReader } from '@tailrace/events';
import type { EventObject } from './rule.ts';

/** A longer value is cut, and ends in a hash so that two long ones differ. In UTF-16 units. */
export const MAX_GROUP_VALUE_LENGTH = 256;

/** How `group_by` and people write a field. */
export function fieldName(path: FieldPath): string {
  return 'known' in path ? path.known : `${ATTRIBUTE_PREFIX}${path.attribute}`;
}

/** Values that are remembered at a time; of more of them all are forgotten. */
const MAX_REMEMBERED = 50_000;

/** What is remembered of one value: what stands behind it in names, and where nothing does, the name. */
type Known = Map<string, Known | string>;

/**
 * A group's name: JSON text of a list of texts and nulls, in the order of `group_by`. Never throws. Names of texts are remembered: the same group has
 * the same string each time, whose hash is made once, and no JSON is made for an event.
 */
export function groupName(paths: readonly FieldPath[]): (event: EventObject) => string {
  if (paths.length === 0) return () => '[]';
  const readers = paths.map(fieldReader);
  const made = (event: EventObject) => `[${readers.map((read) => JSON.stringify(groupText(read(event)))).join(',')}]`;
  const all: Known = new Map();
  let remembered = 0;
  return (event) => {
    let known = all;
    for (let i = 0; i < readers.length; i++) {
      const value = (readers[i] as Reader)(event);
      if (typeof value !== 'string' || value.length > MAX_GROUP_VALUE_LENGTH) return made(event);
      let next = known.get(value);
      if (next === undefined) {
        if (remembered++ >= MAX_REMEMBERED) {
          remembered = 0;
          all.clear();
          return made(event);
        }
        next = i === readers.length - 1 ? made(event) : new Map();
        known.set(value, next);
      }
      if (typeof next === 'string') return next;
      known = next;
    }
    return made(event);
  };
}

type Reader = ReturnType<typeof fieldReader>;

/** A value as a group knows it: text as it is, numbers and booleans by their JSON; null for what is absent, null, a list or an object. */
export function groupText(value: unknown): string | null {
  switch (typeof value) {
    case 'string':
      return boundedText(value);
    case 'boolean':
      return String(value);
    case 'number':
      // JSON has no Infinity, but JSON.parse makes one of 1e400.
      return Number.isFinite(value) ? JSON.stringify(value) : null;
    default:
      return null;
  }
}

/** The text, or its beginning with a hash of the whole: at most MAX_GROUP_VALUE_LENGTH. */
export function boundedText(value: string): string {
  if (value.length <= MAX_GROUP_VALUE_LENGTH) return value;
  const tail = `…${createHash('sha256').update(value).digest('hex').slice(0, 16)}`;
  const cut = value.slice(0, MAX_GROUP_VALUE_LENGTH - tail.length);
  // Half a surrogate pair is no character.
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}${tail}`;
}
