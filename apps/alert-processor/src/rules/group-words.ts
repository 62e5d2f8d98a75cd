import { groupValues } from '../decide/subject.ts';

/** A group with the names of its fields: what people are shown, and what commands take. */
export type NamedGroup = Readonly<Record<string, string | null>>;

/** The values of a group's name by the fields that its rule groups by; by their place where these are not known, or are others by now. */
export function namedGroup(groupBy: readonly string[] | undefined, group: string): NamedGroup {
  const values = groupValues(group);
  const names = groupBy?.length === values.length ? groupBy : values.map((_, i) => String(i + 1));
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? null]));
}

/** `service=shop` and `region=(none)`, each by itself: a value may have commas and blanks. */
export function groupPairs(group: NamedGroup): readonly string[] {
  return Object.entries(group).map(([name, value]) => `${name}=${value ?? '(none)'}`);
}

/** `service=shop, region=(none)`. */
export function groupWords(group: NamedGroup): string {
  return groupPairs(group).join(', ');
}
