import { createHash } from 'node:crypto';
import { ATTRIBUTE_PREFIX, type FieldPath, fieldReader } from '@tailrace/events';
import type { EventObject } from './rule.ts';

/** A longer value is cut, and ends in a hash so that two long ones differ. In UTF-16 units. */
export const MAX_GROUP_VALUE_LENGTH = 256;

/** How `group_by` and people write a field. */
export function fieldName(path: FieldPath): string {
  return 'known' in path ? path.known : `${ATTRIBUTE_PREFIX}${path.attribute}`;
}

/** Names that are remembered at a time of one list of fields; of more of them all are forgotten. */
const MAX_NAMES = 50_000;

/**
 * A group's name: JSON text of a list of texts and nulls, in the order of `group_by`. Never throws. Names of texts are remembered: the same group has
 * the same string each time, whose hash is made once, and no JSON is made for an event.
 */
export function groupName(paths: readonly FieldPath[]): (event: EventObject) => string {
  const [first] = paths;
  if (first === undefined) return () => '[]';
  const readers = paths.map(fieldReader);
  const known = new Map<string, string>();
  const made = (event: EventObject) => `[${readers.map((read) => JSON.stringify(groupText(read(event)))).join(',')}]`;
  const remembered = (event: EventObject, key: string): string => {
    if (known.size >= MAX_NAMES) known.clear();
    const name = made(event);
    known.set(key, name);
    return name;
  };
  return (event) => {
    let key = '';
    for (const read of readers) {
      const value = read(event);
      if (typeof value !== 'string' || value.length > MAX_GROUP_VALUE_LENGTH) return made(event);
      // With its length before each but a single one, no two lists of texts make the same key.
      key = readers.length === 1 ? value : `${key}${value.length}:${value}`;
    }
    return known.get(key) ?? remembered(event, key);
  };
}

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
