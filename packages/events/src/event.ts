import type { Field, serviceEventFields } from './fields.ts';

type KnownField = (typeof serviceEventFields)[number];

type ValueOf<F extends Field> = F extends { readonly kind: 'number' | 'integer' }
  ? number
  : F extends { readonly kind: 'object' }
    ? { readonly [name: string]: unknown }
    : F extends { readonly kind: 'enum'; readonly values: readonly (infer V)[] }
      ? V
      : string;

type Required = { readonly [F in KnownField as F['required'] extends true ? F['name'] : never]: ValueOf<F> };
type Optional = { readonly [F in KnownField as F['required'] extends true ? never : F['name']]?: ValueOf<F> | null };

/** What a service posts: the fields of the table, and anything else, which is kept as it is. An optional field that is null counts as absent. */
export type ServiceEvent = Required & Optional & { readonly [other: string]: unknown };

export type EventFieldName = KnownField['name'];
