import { createHash } from 'node:crypto';
import { ATTRIBUTE_PREFIX, type FieldPath, fieldValue } from '@tailrace/events';
import type { EventObject } from './rule.ts';

/** A longer value is cut, and ends in a hash so that two long ones differ. In UTF-16 units. */
export const MAX_GROUP_VALUE_LENGTH = 256;

/** How `group_by` and people write a field. */
export function fieldName(path: FieldPath): string {
  return 'known' in path ? path.known : `${ATTRIBUTE_PREFIX}${path.attribute}`;
}

/** A group's name: JSON text of a list of texts and nulls, in the order of `group_by`. Never throws. */
export function groupName(paths: readonly FieldPath[]): (event: EventObject) => string {
  const [only] = paths;
  if (only === undefined) return () => '[]';
  // Of one text at a time JSON is made several times quicker than of a list.
  if (paths.length === 1) return (event) => `[${valueText(event, only)}]`;
  return (event) => {
    let name = `[${valueText(event, only)}`;
    for (let i = 1; i < paths.length; i++) name += `,${valueText(event, paths[i] ?? only)}`;
    return `${name}]`;
  };
}

function valueText(event: EventObject, path: FieldPath): string {
  return JSON.stringify(groupText(fieldValue(event, path)));
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
