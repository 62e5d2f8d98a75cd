/** The forms that values of a rules file may have. From one table of them come the reader, the JSON Schema for editors, and the page in docs/reference. */
import { isMap, isNode, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';
import { didYouMean } from './did-you-mean.ts';
import type { Reading } from './reading.ts';

/** One form. `read` tells each problem to the reading, and gives undefined then. */
export interface Shape<T> {
  /** What would fit, as it stands behind "must be": `a text of at most 64 characters`. */
  readonly words: string;
  readonly schema: object;
  /** Of a map: for the page. */
  readonly keys?: KeyTable;
  read(node: Node, reading: Reading): T | undefined;
}

export interface Key<T> {
  readonly shape: Shape<T>;
  readonly required?: boolean;
  /** For the page and for editors. */
  readonly about: string;
  readonly example?: string;
}

export type KeyTable = Readonly<Record<string, Key<unknown>>>;

export type ValueOf<K> = K extends Key<infer T> ? T : never;

/** What a map of these keys is read as: an absent key is undefined. */
export type ValuesOf<K extends KeyTable> = {
  readonly [N in keyof K]: K[N]['required'] extends true ? ValueOf<K[N]> : ValueOf<K[N]> | undefined;
};

const TWICE = 'This key stands twice in one map: keep one of them.';

/** `advice`: what to do about it, where there is more to say. */
function unfit(node: Node, reading: Reading, words: string, advice = ''): undefined {
  if (isNothing(node)) {
    reading.problem(node, `This must be ${words}, and nothing is there${advice}.`);
    return undefined;
  }
  const found = isMap(node) ? 'a map' : isSeq(node) ? 'a list' : isScalar(node) ? shown(node.value) : 'this';
  reading.problem(node, `This must be ${words}, and ${found} is not${advice}.`);
  return undefined;
}

function isNothing(node: unknown): boolean {
  return node === null || node === undefined || (isScalar(node) && node.value === null);
}

export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

const BEGIN_ITEMS = ': begin each of its items with "- "';
const BELOW = ': they stand in the lines below it, further right';

/** The text of a scalar; `undefined` where it is none. */
export function textOf(node: Node): string | undefined {
  return isScalar(node) && typeof node.value === 'string' ? node.value : undefined;
}

export interface TextOptions {
  readonly min?: number;
  readonly max: number;
  readonly pattern?: RegExp;
  readonly words?: string;
}

export function text({ min = 1, max, pattern, words = `a text of ${min} to ${max} characters` }: TextOptions): Shape<string> {
  return {
    words,
    schema: { type: 'string', minLength: min, maxLength: max, ...(pattern === undefined ? {} : { pattern: pattern.source }) },
    read: (node, reading) => {
      const found = textOf(node);
      const fits = found !== undefined && found.length >= min && found.length <= max && (pattern?.test(found) ?? true);
      return fits ? found : unfit(node, reading, words);
    },
  };
}

interface TextProblem {
  readonly problem: string;
  /** From which character on. */
  readonly at?: number;
}

/** Text that means something else: `parse` gives its meaning, or what is wrong with it. */
export function meant<T>(
  words: string,
  schema: object,
  parse: (text: string) => { readonly value: T } | TextProblem | { readonly problems: readonly TextProblem[] },
): Shape<T> {
  return {
    words,
    schema,
    read: (node, reading) => {
      const found = textOf(node);
      if (found === undefined) return unfit(node, reading, words);
      const parsed = parse(found);
      if ('value' in parsed) return parsed.value;
      const problems = 'problems' in parsed ? parsed.problems : [parsed];
      for (const { problem, at = 0 } of problems) reading.problem(reading.placeIn(node, at), problem);
      return undefined;
    },
  };
}

export function number({
  min,
  max,
  whole = true,
}: {
  readonly min: number;
  readonly max: number;
  readonly whole?: boolean;
}): Shape<number> {
  const words = `a ${whole ? 'whole ' : ''}number from ${min} to ${max}`;
  return {
    words,
    schema: { type: whole ? 'integer' : 'number', minimum: min, maximum: max },
    read: (node, reading) => {
      const value = isScalar(node) ? node.value : undefined;
      const fits = typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value));
      return fits ? value : unfit(node, reading, words);
    },
  };
}

export function choice<const V extends string>(values: readonly V[]): Shape<V> {
  const words = `one of ${values.join(', ')}`;
  return {
    words,
    schema: { enum: values },
    read: (node, reading) => {
      const found = values.find((value) => value === textOf(node));
      return found ?? unfit(node, reading, `${words}${didYouMean(textOf(node) ?? '', values)}`);
    },
  };
}

export function list<T>(of: Shape<T>, { max, what }: { readonly max: number; readonly what: string }): Shape<readonly T[]> {
  const words = `a list of at most ${max} ${what}`;
  return {
    words,
    schema: { type: 'array', items: of.schema, maxItems: max },
    read: (node, reading) => {
      if (!isSeq(node) || node.items.length > max) return unfit(node, reading, words, isMap(node) ? BEGIN_ITEMS : '');
      const read = node.items.map((item) => readValue(item, node, of, reading));
      return read.some((value) => value === undefined) ? undefined : (read as T[]);
    },
  };
}

/** A map whose keys the writer chooses. */
export function namesTo<T>(
  of: Shape<T>,
  options: { readonly max: number; readonly names: RegExp; readonly what: string },
): Shape<Readonly<Record<string, T>>> {
  const words = `a map of at most ${options.max} ${options.what}`;
  return {
    words,
    schema: {
      type: 'object',
      additionalProperties: of.schema,
      propertyNames: { pattern: options.names.source },
      maxProperties: options.max,
    },
    read: (node, reading) => {
      if (!isMap(node) || node.items.length > options.max) return unfit(node, reading, words);
      const given = new Set<string>();
      const entries = node.items.map(({ key, value }): [string, T | undefined] => {
        const name = textOf(key as Node);
        if (name === undefined || !options.names.test(name))
          reading.problem(key as Node, `A name here fits ${options.names.source}: this one does not.`);
        if (given.has(name ?? '')) reading.problem(key as Node, TWICE);
        given.add(name ?? '');
        return [name ?? '', readValue(value, key as Node, of, reading)];
      });
      return entries.some(([, value]) => value === undefined) ? undefined : (Object.fromEntries(entries) as Record<string, T>);
    },
  };
}

/** A map of known keys. All problems in it are told, and it is undefined when there is one. */
export function map<const K extends KeyTable>(keys: K, what: string): Shape<ValuesOf<K>> {
  const words = `a map with the keys of ${what}`;
  const required = Object.keys(keys).filter((name) => keys[name]?.required === true);
  return {
    words,
    keys,
    schema: {
      type: 'object',
      properties: Object.fromEntries(
        Object.entries(keys).map(([name, { shape, about }]) => [name, { description: about, ...shape.schema }]),
      ),
      required,
      additionalProperties: false,
    },
    read: (node, reading) => {
      const before = reading.problems.length;
      const values = readKeys(keys, what, node, reading);
      return reading.problems.length > before ? undefined : (values as ValuesOf<K>);
    },
  };
}

/** A map of which every value is read for itself: one that does not fit hides nothing of what is wrong between the others. */
export function parts<const K extends KeyTable>(keys: K, what: string): Shape<Partial<ValuesOf<K>>> {
  return { ...map(keys, what), read: (node, reading) => readKeys(keys, what, node, reading) };
}

/** The values of a map of known keys that could be read, whatever is wrong with the others; undefined, and there, where the value does not fit. */
export function readKeys<const K extends KeyTable>(keys: K, what: string, node: Node, reading: Reading): Partial<ValuesOf<K>> {
  const values: Record<string, unknown> = {};
  if (reading.full) reading.problem(node, 'This was not looked at.');
  if (!isMap(node)) return unfit(node, reading, `a map with the keys of ${what}`, isNothing(node) ? BELOW : '') ?? {};
  const outside = keysOfEmpty(keys, node);
  const names = Object.keys(keys);
  const given = new Set<string>();
  for (const pair of node.items) {
    // The rest is not looked at: it is refused anyway.
    if (reading.full) break;
    const key = pair.key as Node;
    const name = textOf(key) ?? '';
    const known = Object.hasOwn(keys, name) ? keys[name] : undefined;
    if (given.has(name)) reading.problem(key, TWICE);
    else if (known !== undefined) values[name] = readValue(pair.value, key, known.shape, reading);
    else if (!outside.has(name))
      reading.problem(key, `There is no key ${shown(name)} in ${what}${didYouMean(name, names)}: it has ${names.join(', ')}.`);
    given.add(name);
  }
  for (const name of names)
    if (keys[name]?.required === true && !given.has(name)) reading.problem(node, `The key ${name} is missing: ${keys[name].about}`);
  return values as Partial<ValuesOf<K>>;
}

/** The keys of maps in which nothing stands: beside such a map they are meant to be in it, which is told there. */
function keysOfEmpty(keys: KeyTable, node: YAMLMap): ReadonlySet<string> {
  const empty = node.items.filter(({ value }) => isNothing(value)).map(({ key }) => textOf(key as Node) ?? '');
  return new Set(empty.flatMap((name) => (Object.hasOwn(keys, name) ? Object.keys(keys[name]?.shape.keys ?? {}) : [])));
}

/** A list of which each item is read for itself: one that does not fit hides none of the others. */
export function items<T>(of: Shape<T>, { max, what }: { readonly max: number; readonly what: string }): Shape<readonly Item<T>[]> {
  const { words, schema } = list(of, { max, what });
  return {
    words,
    schema,
    read: (node, reading) => {
      if (!isSeq(node) || node.items.length > max) return unfit(node, reading, words, isMap(node) ? BEGIN_ITEMS : '');
      return node.items.flatMap((item) => {
        // The rest is not looked at: it is refused anyway.
        if (reading.full) return [];
        const value = readValue(item, node, of, reading);
        return value === undefined ? [] : [{ value, node: item as Node }];
      });
    },
  };
}

export interface Item<T> {
  readonly value: T;
  readonly node: Node;
}

/** The value behind a key or in a list; where there is none, the problem stands at `holder`. */
export function readValue<T>(value: unknown, holder: Node, shape: Shape<T>, reading: Reading): T | undefined {
  if (isNode(value)) return shape.read(value, reading);
  reading.problem(holder, `This must be ${shape.words}, and nothing is there.`);
  return undefined;
}

/** What somebody else reads. */
export const unread: Shape<true> = { words: 'anything', schema: {}, read: () => true };
