/** How a value is found in an event: the same place for filters, rules, index and lake. */
import { type Field, serviceEventFields } from './fields.ts';

/** A field of the table, or the name of an attribute. */
export type FieldPath = { readonly known: string } | { readonly attribute: string };

/** How an attribute is written, before its name. */
export const ATTRIBUTE_PREFIX = 'attributes.';

const fields: ReadonlyMap<string, Field> = new Map(serviceEventFields.map((field) => [field.name, field]));

/** Names of the table's fields that hold one value each. */
export const comparableFields: readonly string[] = [...fields.values()].filter(({ kind }) => kind !== 'object').map(({ name }) => name);

export function fieldNamed(name: string): Field | undefined {
  return fields.get(name);
}

/** What the event holds there; undefined where there is nothing. Never throws, whatever the event is. */
export function fieldValue(event: unknown, path: FieldPath): unknown {
  return 'known' in path ? memberOf(event, path.known) : attributeOf(event, path.attribute);
}

/** `fieldValue` of one path, for those that look at every event. */
export function fieldReader(path: FieldPath): (event: unknown) => unknown {
  if (!('known' in path)) return (event) => attributeOf(event, path.attribute);
  const { known } = path;
  // No object has a member of that name that is not its own, so there is no need to ask, which takes longer than to read it.
  if (!fields.has(known) || known in Object.prototype || known in Array.prototype) return (event) => memberOf(event, known);
  return (event) => (typeof event === 'object' && event !== null ? (event as Record<string, unknown>)[known] : undefined);
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
