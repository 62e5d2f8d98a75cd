import { createHash } from 'node:crypto';
import { type FieldPath, fieldReader } from '@tailrace/events';
import { groupText } from '../rules/group-of.ts';
import type { Accumulator, EventObject, Measure } from '../rules/rule.ts';
import type { Partial } from './partial.ts';

/** So many values of so many bytes fit into one record of `alert-partials`. */
export const MAX_DISTINCT_LIMIT = 10_000;

/** Kept as it is; any other value is known by its hash. No hash looks like one of these. */
const SHORT = /^[\x21-\x22\x24-\x7e][\x20-\x7e]{0,23}$/;

class Distinct implements Accumulator {
  readonly #read: (event: EventObject) => unknown;
  readonly #limit: number;
  /** Undefined once there were more. */
  #values: Set<string> | undefined = new Set();
  #n = 0;

  constructor(read: (event: EventObject) => unknown, limit: number) {
    this.#read = read;
    this.#limit = limit;
  }

  fold(event: EventObject): void {
    const text = groupText(this.#read(event));
    if (text === null) return;
    this.#n++;
    if (this.#values === undefined) return;
    this.#values.add(identityOf(text));
    if (this.#values.size > this.#limit) this.#values = undefined;
  }

  partial(): Partial {
    return ['distinct', this.#n, this.#limit, this.#values === undefined ? null : [...this.#values]];
  }
}

/** How many different values a field has, exactly; above the limit, the limit and 1. */
export function distinctMeasure(path: FieldPath, limit: number, text: string): Measure {
  const value = (merged: Partial): number | undefined => (merged[0] === 'distinct' ? (merged[3]?.length ?? merged[2] + 1) : undefined);
  const read = fieldReader(path);
  return { kind: 'distinct', partialKind: 'distinct', text, open: () => new Distinct(read, limit), value };
}

/** The values of all, in any order (to sort them at every tick would cost more than to count them); null when there are more than the limit. */
export function mergeValues(lists: readonly (readonly string[] | null)[], limit: number): readonly string[] | null {
  const all = new Set<string>();
  for (const values of lists) {
    if (values === null) return null;
    for (const value of values) all.add(value);
    if (all.size > limit) return null;
  }
  return [...all];
}

function identityOf(text: string): string {
  return SHORT.test(text) ? text : `#${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`;
}
