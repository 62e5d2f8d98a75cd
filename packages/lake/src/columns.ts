import { type DuckDbType, type ParquetColumn, parquetColumns } from '@tailrace/events';

/** A typed column as the file that holds it names it: name and kind decide how its value is printed again. */
export type FileColumn = Pick<ParquetColumn, 'name' | 'kind'>;

/** Where the record itself stands, beside the typed columns. Field ids of events begin at 1, these at 1001: both only grow. */
export const recordColumns = [
  { name: 'topic', fieldId: 1001, duckdbType: 'VARCHAR' },
  { name: 'incarnation', fieldId: 1002, duckdbType: 'VARCHAR' },
  { name: 'partition', fieldId: 1003, duckdbType: 'INTEGER' },
  { name: 'offset', fieldId: 1004, duckdbType: 'BIGINT' },
  { name: 'kafka_timestamp', fieldId: 1005, duckdbType: 'TIMESTAMP WITH TIME ZONE' },
  { name: 'key', fieldId: 1006, duckdbType: 'BLOB' },
  { name: 'headers', fieldId: 1007, duckdbType: 'JSON' },
  { name: 'shape', fieldId: 1008, duckdbType: 'VARCHAR' },
  { name: 'value_state', fieldId: 1009, duckdbType: 'VARCHAR' },
  { name: 'value', fieldId: 1010, duckdbType: 'BLOB' },
] as const satisfies readonly { readonly name: string; readonly fieldId: number; readonly duckdbType: DuckDbType | 'BLOB' }[];

/** How `value` came into its row. `rebuilt`: the rebuild of the typed columns gives it back, and the column is NULL. */
export type ValueState = 'rebuilt' | 'kept' | 'null';

/** Every column of a file with its Parquet field id, in the file's order. */
export function fieldIds(): readonly { readonly name: string; readonly fieldId: number }[] {
  return [...parquetColumns.map(({ name }, place) => ({ name, fieldId: place + 1 })), ...recordColumns];
}
