import { type Field, serviceEventFields } from './fields.ts';

type Mapping = { readonly [parameter: string]: unknown };

/** Lucene refuses a term above 32,766 bytes, and with it the whole document. */
const MAX_TERM_BYTES = 32_766;
const MAX_BYTES_PER_CHARACTER = 4;
/** `ignore_above` counts UTF-16 units, which take up to 3 bytes each in UTF-8 (a pair of them 4). */
const IGNORE_ABOVE = Math.floor(MAX_TERM_BYTES / 3);
const INT32_MAX = 2 ** 31 - 1;

function fieldMapping(field: Field): Mapping {
  switch (field.kind) {
    case 'instant':
      // Milliseconds: date_nanos would refuse what lies before 1970 or behind 2262, like the zero time of a Go program.
      return { type: 'date', format: 'strict_date_optional_time' };
    case 'string':
      if (field.fullText === true) return { type: 'text' };
      return field.maxLength !== undefined && field.maxLength * MAX_BYTES_PER_CHARACTER <= MAX_TERM_BYTES
        ? { type: 'keyword' }
        : { type: 'keyword', ignore_above: IGNORE_ABOVE };
    case 'enum':
      return { type: 'keyword' };
    case 'number':
      // Without `coerce: false` the text "12" would be indexed as a number.
      return { type: 'double', coerce: false };
    case 'integer':
      return { type: field.min >= -INT32_MAX && field.max <= INT32_MAX ? 'integer' : 'long', coerce: false };
    case 'object':
      return { type: 'flat_object' };
  }
}

/** The OpenSearch mapping of each field of the table, by name. */
export const eventFieldMappings: Readonly<Record<string, Mapping>> = Object.fromEntries(
  serviceEventFields.map((field) => [field.name, fieldMapping(field)]),
);
