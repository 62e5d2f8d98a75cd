import { CANARY_SERVICE, type DuckDbType, type Field, type ParquetColumn, parquetColumns, serviceEventFields } from '@tailrace/events';
import type { Finding } from './audit.ts';
import { recordColumns, type ValueState } from './columns.ts';
import { FILE_VERSION } from './footer.ts';
import { type DataEntry, formatEntry, type LedgerEntry, MAX_DATA_SPAN } from './ledger-entry.ts';
import { dataKey, entryKey, type LakeLayout, ledgerPrefix, lostKey, scratchPrefix } from './object-names.ts';
import { restoredValueSql } from './parquet-reader.ts';
import { FOLDER_COLUMNS, NO_CANARIES_SQL } from './query.ts';
import { REBUILD_VERSION } from './rebuild.ts';
import type { ChainId } from './records.ts';
import { plansPrefix } from './replay-plans.ts';
import { MAX_NAMES } from './typed-columns.ts';

const GENERATED =
  '<!-- Generated from packages/lake and packages/events. Change the tables there, then run its unit tests with UPDATE_DOCS=1. -->';

/** What a DuckDB type is in the file, as other readers name it: physical type, and the annotation in brackets. */
export const PARQUET_TYPES: Readonly<Record<DuckDbType | 'BLOB', string>> = {
  'TIMESTAMP WITH TIME ZONE': 'INT64 (TIMESTAMP_MICROS)',
  VARCHAR: 'BYTE_ARRAY (UTF8)',
  DOUBLE: 'DOUBLE',
  INTEGER: 'INT32 (INT_32)',
  BIGINT: 'INT64 (INT_64)',
  JSON: 'BYTE_ARRAY (JSON)',
  BLOB: 'BYTE_ARRAY',
};

/** Which JSON values fill a typed column of a kind; any other value leaves it NULL. */
const FILLED_BY: Readonly<Record<ParquetColumn['kind'], string>> = {
  instant: 'a string that is an RFC 3339 time; cut to microseconds, in UTC',
  string: 'any string',
  enum: 'any string',
  number: 'a finite number',
  integer: 'a whole number that fits the type',
  object: 'an object, as its JSON text; fields outside the table are merged in',
};

const RECORD_ABOUT: Readonly<Record<(typeof recordColumns)[number]['name'], string>> = {
  topic: 'The Kafka topic.',
  incarnation:
    'Which life of the topic: the first 8 characters of its topic id in base64url. A topic that is deleted and made anew begins at offset 0 again.',
  partition: 'The partition.',
  offset:
    'The offset. With topic, incarnation and partition it names the record; each stands in the lake once, and a file is sorted by it.',
  kafka_timestamp: 'The broker’s time of arrival, in milliseconds. The folders `dt` and `hour` are taken from it.',
  key: 'The record’s key. NULL: it had none.',
  headers: 'The record’s headers in their order: a list of `[name, base64 of the value, or null]`. Names may repeat.',
  shape: 'The value’s own top-level names in their order, separated by commas. Only where `value_state` is `rebuilt`.',
  value_state: 'Where the original bytes of the value are: see below.',
  value: 'The original bytes of the value, where `value_state` is `kept`; else NULL.',
};

const STATES: Readonly<Record<ValueState, string>> = {
  rebuilt:
    'The typed columns and `shape` give back the original bytes, which was checked when the row was written. The column `value` is NULL: it would say everything twice.',
  kept: 'The columns can not give back every byte (spaces between the tokens, `87.0`, a field outside the table, no JSON at all): the original stands in `value`.',
  null: 'The record has no value (a tombstone).',
};

const KINDS: Readonly<Record<LedgerEntry['kind'], string>> = {
  data: 'These offsets are in the object that the entry names. `voids` inside never held a readable record.',
  genesis: 'These offsets were already gone from Kafka when the archive began. Only as the first entry.',
  void: 'These offsets never held a readable record.',
  lost: 'These offsets were gone from Kafka before they were archived: they are missing for good.',
};

const FINDINGS: Readonly<Record<Finding['kind'], string>> = {
  gap: 'No entry covers these offsets, and entries behind them do.',
  overlap: 'Two entries cover these offsets.',
  'missing-object': 'The entry is not the last one of its chain, and neither its object nor a `.lost.json` is there.',
  'damaged-object': 'The object is not as its entry says, or can not be read: it is cut, or its bytes do not fit the store’s checksum.',
  'damaged-entry': 'The entry makes no sense, or can not be read.',
  'unclaimed-object':
    'No entry names this object: its rows would be read, and nothing says that they belong here. Also a `*.parquet` among the data whose name is none of the lake’s.',
  expired: 'Kafka deleted these offsets before they were archived: they are missing for good.',
  truncated: 'Kafka’s log ends below the chain (after an unclean leader election): what is written there next would be taken for archived.',
  late: 'These offsets wait in Kafka for longer than the archiver’s allowed delay: see whether it runs and what its `/readyz` says, before Kafka deletes them. Or the first of them has a time outside of the years 1 to 9999, before which the archiver stands still.',
};

const LAKE: LakeLayout = { prefix: 'lake', stream: 'service-events' };
const CHAIN: ChainId = { topic: 'service-events', incarnation: 'Qm3xY_1a', partition: 3 };
const ARRIVED_MS = Date.UTC(2026, 2, 1, 9, 12);
const ENTRY: DataEntry = {
  kind: 'data',
  first: 1200,
  next: 1700,
  attempt: '6f1d2c34-8a5b-4c60-9d0e-2b7a9f5e1c11',
  object: dataKey(LAKE, CHAIN, 1200, ARRIVED_MS),
  rows: 500,
  minTimestampMs: ARRIVED_MS,
  maxTimestampMs: ARRIVED_MS + 61_250,
  voids: [],
  checksum: '9c1f0a7de2b45368',
};

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const code = (text: string): string => `\`${text}\``;
const block = (text: string, language = ''): string => `\`\`\`${language}\n${text.trim()}\n\`\`\``;

/** The page `docs/reference/lake.md`. */
export function lakePage(): string {
  const abouts: readonly Field[] = serviceEventFields;
  const typed = parquetColumns.map(({ name, kind, duckdbType }, place) => [
    code(name),
    duckdbType,
    PARQUET_TYPES[duckdbType],
    FILLED_BY[kind],
    abouts[place]?.about ?? '',
  ]);
  const record = recordColumns.map(({ name, duckdbType }) => [code(name), duckdbType, PARQUET_TYPES[duckdbType], RECORD_ABOUT[name]]);
  return `${GENERATED}
# The lake, file format ${FILE_VERSION}

Every record of the stream, whole and for good, as Parquet (zstd) on S3. One row is one record. The names and the ledger below are a contract: they change only with a new major version.

## Names

${table(
  ['object', 'what it is'],
  [
    [
      code(dataKey(LAKE, CHAIN, 1200, ARRIVED_MS)),
      'Rows. `<prefix>/<stream>/dt=<day>/hour=<hour>/<topic>~<incarnation>+<partition>+<first offset, 20 digits>.parquet`; day and hour of arrival in UTC, and every row of it arrived in that hour.',
    ],
    [code(entryKey(LAKE, CHAIN, 1200)), 'The ledger: one entry for each range of offsets.'],
    [code(lostKey(LAKE, CHAIN, 1200)), 'Beside an entry whose object could not be made: nothing of its range was left in Kafka.'],
    [`\`${plansPrefix(LAKE.prefix)}…\``, 'Plans of replays: [replay.md](replay.md).'],
    [`\`${scratchPrefix(LAKE)}…\``, 'What an archiver tries the store with at its start. Nothing reads it.'],
  ],
)}

\`${LAKE.prefix}\` is \`TAILRACE_LAKE_PREFIX\`. Read names that end in \`.parquet\` and nothing else: a server may list an upload that still goes on under a longer name. Objects are never changed and never written twice.

## Columns of the event

Filled from the value where it is one JSON object of the type \`service-event\`, and where the JSON type fits; else NULL. The row is there all the same. They say what was posted, also where it breaks the event’s rules: see [event.md](event.md). A value with more than ${MAX_NAMES.different.toLocaleString('en-US')} top-level names, or more than ${MAX_NAMES.repeated} of which one is repeated, is not looked into, and neither is one that the writer’s memory can not take: its row has the bytes and no typed columns.

${table(['column', 'DuckDB', 'Parquet', 'filled by', 'what it is'], typed)}

Columns are only added, at the end of this table, and never change their name or type. In a file that is older than a column, the column is not there: have your reader merge by name.

## Columns of the record

${table(['column', 'DuckDB', 'Parquet', 'what it is'], record)}

Tools that know Hive folders add ${FOLDER_COLUMNS.map(code).join(' and ')}: the UTC day and hour of arrival. Filter by them first, since they save reading. An event’s own \`timestamp\` may lie before (or, with a skewed clock, behind) its arrival: widen \`dt\` and \`hour\` when you filter by it.

## The original bytes

${table(
  ['`value_state`', 'meaning'],
  Object.entries(STATES).map(([state, about]) => [code(state), about]),
)}

The view \`events\` of \`npx tailrace lake query\` has the original bytes in \`value\` for every row. In a DuckDB of your own this expression (rebuild version ${REBUILD_VERSION}, the number is in each file’s metadata under \`tailrace\`) gives them, after \`SET TimeZone = 'UTC'\`:

${block(restoredValueSql(parquetColumns))}

## The ledger

\`${ledgerPrefix(LAKE)}<topic>~<incarnation>/<partition>/<first offset, 20 digits>.json\`. The entries of a partition are a chain from offset 0 on: \`first\` of each is \`next\` of the one before it, and each covers \`[first, next)\`. An entry is put if absent, before its object: whoever is second reads what the first one claimed.

${block(formatEntry(ENTRY).toString())}

${table(
  ['`kind`', 'meaning'],
  Object.entries(KINDS).map(([kind, about]) => [code(kind), about]),
)}

- \`attempt\` tells two writers apart. \`checksum\` is that of the records’ bytes. Times are in milliseconds since 1970. A data entry spans at most ${MAX_DATA_SPAN} offsets.
- A data entry with neither object nor \`.lost.json\` is still being filled: for readers the chain ends there.
- An object may begin above its entry’s \`first\` where Kafka no longer held the beginning; its metadata then says \`from\`, and what lies below is lost.

## The audit

\`npx tailrace lake audit\` looks at every entry, every object’s footer, and, unless \`--no-kafka\` is given, at the start and the end of every partition in Kafka. It says how far each partition is, and is clean only where the lake reaches Kafka’s end. It may run beside an archiver. A finding is exit code 1:

${table(
  ['finding', 'meaning'],
  Object.entries(FINDINGS).map(([kind, about]) => [code(kind), about]),
)}

What is younger and not archived yet is told and is no finding. \`--json\` prints one object: \`verdict\` is \`clean\`, \`not-all-archived\`, \`kafka-not-compared\` or \`findings\`.

With \`--deep\` every object is fetched and decoded: each value is rebuilt, its offset must follow the one before it, and the checksum of all records must be the entry’s (of an object that holds only a rest, its own). It takes as long as reading the whole lake, and says how far it is. The typed columns of a \`kept\` row are what its writer made of the value, and are not made again. What readers skip row groups by is held against the rows, for every column of every row group: the statistics in the footer and the Bloom filters. A bound that leaves a row out, one that calls itself exact and is not, a wrong count of NULLs, and a filter that leaves a value out are findings, with column and row group; a bound that is absent, or wider and not called exact, is none. Without \`--deep\` nobody looks at these: somebody with write access to the bucket can put a file with other ones in place of ours, S3 gives it a checksum that fits, and a query with a filter on that column then misses rows until a deep audit finds it. Keep write access to the bucket to the archiver, or turn on S3 Object Lock.

\`npx tailrace lake ledger show\` prints the chains entry by entry; \`--topic\`, \`--partition\` and \`--incarnation\` choose some, \`--json\` prints one object.

## Read it

With the command line. It reads and does nothing else: one SELECT at a time, no other file, no network. \`--from\` and \`--to\` fetch only the hours of arrival that are needed. The view \`events\` leaves out the canaries, which tailrace posts to itself to see how long events take (\`service\` is \`${CANARY_SERVICE}\`); the view \`all_events\` has them, too. Readers of your own leave them out as below:

${block('SELECT service, count(*) AS events, quantile_cont(latency_ms, 0.99) AS p99_ms FROM events WHERE status_code >= 500 GROUP BY service ORDER BY events DESC LIMIT 10', 'sql')}

\`key\` and \`value\` are BLOBs, the original bytes. The command shows bytes as text where they are UTF-8, in the table and with \`--json\`, and else as DuckDB does, with \`\\xNN\` for each byte that is not printable ASCII; \`hex(value)\` shows them exactly. To look into them in SQL make them text with \`decode(value)\`, and with \`TRY(decode(value))\` where a record may be no UTF-8:

${block("SELECT kafka_timestamp, decode(value) AS event FROM events WHERE contains(TRY(decode(value)), 'checkout') ORDER BY kafka_timestamp DESC LIMIT 5", 'sql')}

With DuckDB:

${block(`SELECT service, count(*) FROM read_parquet('s3://BUCKET/lake/service-events/dt=2026-03-*/*/*.parquet',
  hive_partitioning = true, hive_types_autocast = false, union_by_name = true)
WHERE dt = '2026-03-01' AND hour = '09' AND ${NO_CANARIES_SQL} GROUP BY service;`)}

With pyarrow:

${block(`import pyarrow as pa, pyarrow.dataset as ds
from pyarrow import fs
store, root = fs.FileSystem.from_uri("s3://BUCKET/lake/service-events")
names = [each.path for each in store.get_file_info(fs.FileSelector(root, recursive=True)) if each.path.endswith(".parquet")]
folders = ds.partitioning(pa.schema([("dt", pa.string()), ("hour", pa.string())]), flavor="hive")
events = ds.dataset(names, filesystem=store, format="parquet", partitioning=folders)
events.to_table(columns=["service", "status_code"], filter=(ds.field("dt") == "2026-03-01") & (ds.field("hour") == "09")
  & (ds.field("service").is_null() | (ds.field("service") != "${CANARY_SERVICE}")))`)}

With Spark:

${block(`spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
events = (spark.read.option("pathGlobFilter", "*.parquet").option("mergeSchema", "true")
  .parquet("s3a://BUCKET/lake/service-events/"))
events.where("dt = '2026-03-01' AND hour = '09' AND NOT service <=> '${CANARY_SERVICE}'").groupBy("service").count().show()`)}
`;
}
