import { ATTRIBUTE_PREFIX, comparableFields, type FieldPath, fieldNamed, readFieldPath } from '@tailrace/events';
import { didYouMean } from './did-you-mean.ts';

/** A field by its name, as everywhere; of one that there is not, also the one that may be meant. */
export function fieldPath(name: string): FieldPath | { readonly problem: string } {
  const path = readFieldPath(name);
  if (!('problem' in path) || name.startsWith(ATTRIBUTE_PREFIX) || fieldNamed(name) !== undefined) return path;
  const dot = name.indexOf('.');
  const attribute = dot < 0 ? [] : [`${ATTRIBUTE_PREFIX}${name.slice(dot + 1)}`];
  const meant = didYouMean(name, [...comparableFields, ...attribute]);
  return meant === '' ? path : { problem: path.problem.replace(': ', () => `${meant}: `) };
}
