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

/**
 * How many names an object may have at its top level, and how many where one of them is repeated, to have typed columns at all. Finding
 * out which of the repeated ones count takes their square. One event of 256 KiB with 30,000 of them would hold every partition for a minute.
 */
export const MAX_NAMES = { different: 10_000, repeated: 500 } as const;

/** Whether a name is repeated. */
const REPEATS = 'len(json_names) > list_unique(json_names)';

/** Whether there are more names than an event may have. */
const TOO_MANY_NAMES = `len(json_names) > ${MAX_NAMES.different} OR (len(json_names) > ${MAX_NAMES.repeated} AND ${REPEATS})`;

/** A member's text from its name and its value's text. */
function memberSql(name: string, value: string): string {
  return `to_json(${name})::VARCHAR || ':' || ${value}::VARCHAR`;
}

/** The object without repeated names: the last value counts, as for the gateway's checks and the key. */
function unrepeatedSql(): string {
  const last = 'list_filter(range(1, len(json_names) + 1), lambda place: NOT list_contains(json_names[place + 1:], json_names[place]))';
  const members = `list_transform(${last}, lambda place: ${memberSql('json_names[place]', 'json_repeated[place]')})`;
  return `CASE WHEN json_repeated IS NOT NULL THEN '{' || array_to_string(${members}, ',') || '}' ELSE json END`;
}

/** `what` where the object has more names than known ones, else NULL: most events have none that is unknown, and are not read again. */
function whereUnknownSql(what: string): string {
  return `CASE WHEN len(json_names) > list_count(json_types) THEN ${what} END`;
}

/** The places of the names outside the field table that `attributes` does not hold either. */
function unknownSql(): string {
  const known = parquetColumns.map(({ name }) => sqlText(name)).join(', ');
  return `list_filter(range(1, len(member_names) + 1),
    lambda place: member_names[place] NOT IN (${known}) AND NOT list_contains(shared_names, member_names[place]))`;
}

/** `attributes` with the unknown fields merged in; its own members win. */
function mergedSql(): string {
  const members = `array_to_string(list_transform(unknown_places, lambda place: ${memberSql('member_names[place]', 'member_values[place]')}), ',')`;
  return `CASE WHEN len(unknown_places) > 0 THEN '{' || concat_ws(',', ${membersSql('attributes')}, ${members}) || '}' ELSE attributes END`;
}

/**
 * The steps from a record's bytes to its typed columns, as common table expressions over `source` (with `value_bytes`, `value` where it is text of one line, `readable` and `mended`).
 * The last one is `typed`: everything of `source`, `json` (NULL unless the value is one JSON object with a bearable number of names),
 * `json_names` as they were written, and the columns. Lists that a lambda looks into are columns of an earlier step: an expression inside
 * the lambda is done again for each element. `$.*` gives every value in its order.
 */
export function typedColumnsCtes(): string {
  const paths = parquetColumns.map(({ name }) => sqlText(`$."${name}"`)).join(', ');
  const columns = parquetColumns.map((column, i) => `${typedSql(column, i + 1)} AS ${sqlName(column.name)}`);
  return `decoded AS (SELECT *, CASE WHEN readable THEN coalesce(value, decode(value_bytes)) END AS text, coalesce(decode(from_base64(mended)), text) AS parsed FROM source),
objects AS (SELECT *, CASE WHEN starts_with(ltrim(parsed, E' \\t\\r\\n'), '{') AND json_valid(parsed) THEN parsed END AS json FROM decoded),
counted AS (SELECT *, json_keys(json) AS json_names FROM objects),
named AS (SELECT * REPLACE (CASE WHEN ${TOO_MANY_NAMES} THEN NULL ELSE json END AS json, CASE WHEN ${TOO_MANY_NAMES} THEN NULL ELSE json_names END AS json_names) FROM counted),
repeated AS (SELECT *, CASE WHEN ${REPEATS} THEN json_extract(json, '$.*') END AS json_repeated FROM named),
unrepeated AS (SELECT * REPLACE (${unrepeatedSql()} AS json) FROM repeated),
picked AS (SELECT *, json_type(json, [${paths}]) AS json_types, json_extract_string(json, [${paths}]) AS json_texts FROM unrepeated),
own AS (SELECT *, ${columns.join(',\n  ')} FROM picked),
members AS (SELECT *, ${whereUnknownSql('json_keys(json)')} AS member_names, ${whereUnknownSql(`json_extract(json, '$.*')`)} AS member_values FROM own),
shared AS (SELECT *, list_intersect(member_names, coalesce(json_keys(attributes), [])) AS shared_names FROM members),
beside AS (SELECT *, ${unknownSql()} AS unknown_places FROM shared),
typed AS (SELECT * REPLACE (${mergedSql()} AS attributes) FROM beside)`;
}
