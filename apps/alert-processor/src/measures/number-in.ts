import { type FieldPath, fieldReader } from '@tailrace/events';
import type { EventObject } from '../rules/rule.ts';

/** Reads the number that stands in a field of an event; undefined where there is none. */
export function numberIn(path: FieldPath): (event: EventObject) => number | undefined {
  const read = fieldReader(path);
  return (event) => {
    const found = read(event);
    // JSON has no Infinity, but JSON.parse makes one of 1e400.
    return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
  };
}
