import { type Field, serviceEventFields } from './fields.ts';

export type DuckDbType = 'TIMESTAMP WITH TIME ZONE' | 'VARCHAR' | 'DOUBLE' | 'INTEGER' | 'BIGINT' | 'JSON';

/** One typed column of the lake. `kind` says which JSON values may fill it: any other value leaves it NULL. */
export interface ParquetColumn {
  readonly name: string;
  readonly kind: Field['kind'];
  readonly duckdbType: DuckDbType;
}

const INT32_MAX = 2 ** 31 - 1;

function duckdbType(field: Field): DuckDbType {
  switch (field.kind) {
    case 'instant':
      return 'TIMESTAMP WITH TIME ZONE';
    case 'string':
    case 'enum':
      return 'VARCHAR';
    case 'number':
      return 'DOUBLE';
    case 'integer':
      return field.min >= -INT32_MAX && field.max <= INT32_MAX ? 'INTEGER' : 'BIGINT';
    case 'object':
      return 'JSON';
  }
}

/** The lake's typed columns in the field table's order, which never changes: a column's place is its Parquet field id minus 1. */
export const parquetColumns: readonly ParquetColumn[] = serviceEventFields.map((field) => ({
  name: field.name,
  kind: field.kind,
  duckdbType: duckdbType(field),
}));
