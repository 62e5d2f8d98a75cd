import { type ParquetColumn, parquetColumns } from '@tailrace/events';
import { sqlName, sqlText } from './duckdb.ts';

const JSON_NUMBERS = "('DOUBLE', 'BIGINT', 'UBIGINT')";
const RFC_3339 = String.raw`\d{4}-\d\d-\d\d[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)`;

/**
 * An instant from an RFC 3339 text, cut to microseconds, or NULL. The pattern comes first because the cast also takes dates without
 * a time, 24:00 and `infinity`. A leap second (only the last one of a month) is the same instant as the second behind it.
 */
function instantSql(text: string): string {
  const upper = `upper(${text})`;
  const leap = `TRY_CAST(${upper}[1:17] || '59' || ${upper}[20:] AS TIMESTAMPTZ) + INTERVAL 1 SECOND`;
  return `CASE WHEN regexp_full_match(${text}, ${sqlText(RFC_3339)}) THEN
    CASE WHEN ${text}[18:19] <> '60' THEN TRY_CAST(${upper} AS TIMESTAMPTZ)
    WHEN date_trunc('month', ${leap}) = date_trunc('second', ${leap}) THEN ${leap} END END`;
}

/** A finite double from a JSON number's text, or NULL: 1e400 is valid JSON, and the parser also takes NaN. */
function doubleSql(text: string): string {
  return `CASE WHEN isfinite(TRY_CAST(${text} AS DOUBLE)) THEN TRY_CAST(${text} AS DOUBLE) END`;
}

/** A whole number, exact: one written without fraction and exponent is never read as a double; 200.0 is 200, and 200.5 is none. */
function integerSql(text: string, type: string): string {
  const asDouble = `TRY_CAST(${text} AS DOUBLE)`;
  return `CASE WHEN regexp_full_match(${text}, '-?\\d+') THEN TRY_CAST(${text} AS ${type})
    WHEN abs(${asDouble}) <= ${Number.MAX_SAFE_INTEGER} AND ${asDouble} = trunc(${asDouble}) THEN TRY_CAST(${asDouble} AS ${type}) END`;
}

/** The typed column at `place` (from 1), filled only where the JSON type matches. */
function typedSql(column: ParquetColumn, place: number): string {
  const type = `json_types[${place}]`;
  const text = `json_texts[${place}]`;
  switch (column.kind) {
    case 'instant':
      return `CASE WHEN ${type} = 'VARCHAR' THEN ${instantSql(text)} END`;
    case 'string':
    case 'enum':
      return `CASE WHEN ${type} = 'VARCHAR' THEN ${text} END`;
    case 'number':
      return `CASE WHEN ${type} IN ${JSON_NUMBERS} THEN ${doubleSql(text)} END`;
    case 'integer':
      return `CASE WHEN ${type} IN ${JSON_NUMBERS} THEN ${integerSql(text, column.duckdbType)} END`;
    case 'object':
      return `CASE WHEN ${type} = 'OBJECT' THEN ${text} END`;
  }
}

/** Members of an object's text, without its braces; NULL for an object without members, so that a join leaves it out. */
function membersSql(object: string): string {
  return `nullif(${object}[2:-2], '')`;
}

/** The object without repeated names: the last value counts, as for the gateway's checks and the key. `$.*` gives every value in its order. */
function unrepeatedSql(): string {
  const last = 'list_filter(range(1, len(json_names) + 1), lambda place: NOT list_contains(json_names[place + 1:], json_names[place]))';
  const member = `to_json(json_names[place])::VARCHAR || ':' || json_extract(json, '$.*')[place]::VARCHAR`;
  return `CASE WHEN len(json_names) > list_unique(json_names)
    THEN '{' || array_to_string(list_transform(${last}, lambda place: ${member}), ',') || '}' ELSE json END`;
}

/** The names outside the field table that `attributes` does not hold either. Only looked for where there are more names than known ones. */
function unknownSql(): string {
  const known = parquetColumns.map(({ name }) => sqlText(name)).join(', ');
  return `CASE WHEN len(json_names) > list_count(json_types) THEN list_filter(list_distinct(json_names),
    lambda name: name NOT IN (${known}) AND NOT list_contains(coalesce(json_keys(attributes), []), name)) END`;
}

/** `attributes` with the unknown fields merged in; its own members win. The JSON pointer escapes `~` and `/`. */
function mergedSql(): string {
  const member = `to_json(name)::VARCHAR || ':' || json_extract(json, '/' || replace(replace(name, '~', '~0'), '/', '~1'))::VARCHAR`;
  const members = `array_to_string(list_transform(json_unknown, lambda name: ${member}), ',')`;
  return `CASE WHEN len(json_unknown) > 0 THEN '{' || concat_ws(',', ${membersSql('attributes')}, ${members}) || '}' ELSE attributes END`;
}

/**
 * The steps from a record's bytes to its typed columns, as common table expressions over `source` (with `value_bytes`, `readable` and `mended`).
 * The last one is `typed`: everything of `source`, `json` (NULL unless the value is one JSON object), `json_names` as they were written, and the columns.
 */
export function typedColumnsCtes(): string {
  const paths = parquetColumns.map(({ name }) => sqlText(`$."${name}"`)).join(', ');
  const columns = parquetColumns.map((column, i) => `${typedSql(column, i + 1)} AS ${sqlName(column.name)}`);
  return `decoded AS (SELECT *, CASE WHEN readable THEN decode(value_bytes) END AS text, coalesce(decode(from_base64(mended)), text) AS parsed FROM source),
objects AS (SELECT *, CASE WHEN starts_with(ltrim(parsed, E' \\t\\r\\n'), '{') AND json_valid(parsed) THEN parsed END AS json FROM decoded),
named AS (SELECT *, json_keys(json) AS json_names FROM objects),
unrepeated AS (SELECT * REPLACE (${unrepeatedSql()} AS json) FROM named),
picked AS (SELECT *, json_type(json, [${paths}]) AS json_types, json_extract_string(json, [${paths}]) AS json_texts FROM unrepeated),
own AS (SELECT *, ${columns.join(',\n  ')} FROM picked),
beside AS (SELECT *, ${unknownSql()} AS json_unknown FROM own),
typed AS (SELECT * REPLACE (${mergedSql()} AS attributes) FROM beside)`;
}
