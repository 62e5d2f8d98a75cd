import { isMap, type Node } from 'yaml';
import { didYouMean } from './did-you-mean.ts';
import { type KeyTable, readValue, type Shape, textOf, type ValueOf } from './shapes.ts';

/** Of several forms the one that is named: either what `plain` reads, or a map with exactly one of the keys. */
export type Variant<P, K extends KeyTable> =
  | { readonly kind: 'plain'; readonly value: P }
  | { [N in keyof K]: { readonly kind: N; readonly value: ValueOf<K[N]> } }[keyof K];

export function variant<P, const K extends KeyTable>(plain: Shape<P>, keys: K, what: string): Shape<Variant<P, K>> {
  const names = Object.keys(keys);
  const words = `${plain.words}, or a map with one of ${names.join(', ')}`;
  const forms = [plain.words, ...Object.values(keys).map(({ example }) => example)].join(', ');
  return {
    words,
    keys,
    schema: {
      anyOf: [
        plain.schema,
        ...Object.entries(keys).map(([name, { shape, about }]) => ({
          type: 'object',
          description: about,
          properties: { [name]: shape.schema },
          required: [name],
          additionalProperties: false,
        })),
      ],
    },
    read: (node, reading) => {
      if (!isMap(node)) {
        const value = plain.read(node, reading);
        return value === undefined ? undefined : { kind: 'plain', value };
      }
      const [pair, ...others] = node.items;
      const name = textOf((pair?.key ?? node) as Node) ?? '';
      const known = Object.hasOwn(keys, name) ? keys[name] : undefined;
      if (pair === undefined || others.length > 0 || known === undefined) {
        reading.problem(node, `${what} is ${forms}${known === undefined ? didYouMean(name, names) : ''}.`);
        return undefined;
      }
      const value: unknown = readValue(pair.value, pair.key as Node, known.shape, reading);
      return value === undefined ? undefined : ({ kind: name, value } as Variant<P, K>);
    },
  };
}
