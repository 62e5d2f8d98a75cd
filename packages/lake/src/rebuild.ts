import type { FileColumn } from './columns.ts';
import { sqlName, sqlText } from './duckdb.ts';

/**
 * The rules by which a value is printed again from its columns. A file names its version, and its rows are restored by that one, so a
 * version never changes: another rule is another version.
 */
export const REBUILD_VERSION = 1;

/** A double that is whole and below this is printed without fraction and exponent, as JavaScript does. */
const PRINTED_WHOLE_BELOW = '1e15';

function printedSql({ name, kind }: FileColumn): string {
  const column = sqlName(name);
  switch (kind) {
    case 'instant':
      return `'"' || strftime(${column}, '%Y-%m-%dT%H:%M:%S.%g') || 'Z"'`;
    case 'string':
    case 'enum':
      return `to_json(${column})::VARCHAR`;
    case 'number':
      return `CASE WHEN ${column} = trunc(${column}) AND abs(${column}) < ${PRINTED_WHOLE_BELOW} THEN TRY_CAST(${column} AS BIGINT)::VARCHAR ELSE to_json(${column})::VARCHAR END`;
    case 'integer':
      return `${column}::VARCHAR`;
    case 'object':
      return `${column}::VARCHAR`;
  }
}

/**
 * Version 1: the value's text from the typed columns and `shape`, its own top-level keys in their order. A key whose column is NULL is
 * printed as null. What the columns can not say comes out different from the original: the writer compares, and keeps the original.
 */
export function rebuildSql(columns: readonly FileColumn[]): string {
  const cases = columns.map(
    (column) => `WHEN ${sqlText(column.name)} THEN ${sqlText(`"${column.name}":`)} || coalesce(${printedSql(column)}, 'null')`,
  );
  return `'{' || array_to_string(list_transform(string_split(shape, ','), lambda name: CASE name ${cases.join('\n  ')} END), ',') || '}'`;
}
