import type { Field } from './fields.ts';

/** The bounds of a field, and in which direction each may move without refusing what was accepted before. */
const bounds = [
  { name: 'minLength', absent: 0, mayGrow: false },
  { name: 'maxLength', absent: Number.POSITIVE_INFINITY, mayGrow: true },
  { name: 'min', absent: Number.NEGATIVE_INFINITY, mayGrow: false },
  { name: 'max', absent: Number.POSITIVE_INFINITY, mayGrow: true },
] as const;

type Bounds = { readonly [name in (typeof bounds)[number]['name']]?: number };

function tightenings(before: Field & Bounds, after: Field & Bounds): string[] {
  const found = bounds
    .filter(({ name, absent, mayGrow }) => {
      const growth = (after[name] ?? absent) - (before[name] ?? absent);
      return mayGrow ? growth < 0 : growth > 0;
    })
    .map(({ name }) => `${before.name}: ${name} may not get tighter`);
  const values = 'values' in after ? after.values : [];
  const lost = 'values' in before ? before.values.filter((value) => !values.includes(value)) : [];
  return lost.length === 0 ? found : [...found, `${before.name}: the value ${lost.join(', ')} may not be removed`];
}

/**
 * What breaks between a released field table and a later one: records of the released one must decode for ever, and a
 * field keeps its place, which is its Parquet field id. Empty when the later table only grew.
 */
export function growthProblems(released: readonly Field[], later: readonly Field[]): string[] {
  const broken = released.flatMap((before, place) => {
    const after = later[place];
    if (after === undefined || after.name !== before.name) return [`${before.name}: may not be removed, renamed or moved`];
    if (after.kind !== before.kind) return [`${before.name}: may not change from ${before.kind} to ${after.kind}`];
    if (after.required && !before.required) return [`${before.name}: may not be made required`];
    return tightenings(before, after);
  });
  const demanded = later.slice(released.length).filter((field) => field.required);
  return [...broken, ...demanded.map((field) => `${field.name}: a new field must be optional`)];
}
