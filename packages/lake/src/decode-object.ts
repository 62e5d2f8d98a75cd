import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asyncBufferFromFile } from 'hyparquet';
import type { LookInto } from './audit-entry.ts';
import { checkBloomFilters } from './bloom-filters.ts';
import { type Database, sqlName, sqlText } from './duckdb.ts';
import { FileDamage, GONE } from './file-damage.ts';
import { type FileDescription, type Footer, readFooter } from './footer.ts';
import type { DataEntry } from './ledger-entry.ts';
import { readParquet } from './parquet-reader.ts';
import { behindHoles } from './ranges.ts';
import type { LakeRecord } from './records.ts';
import { checkStatistics, readStatistics } from './statistics.ts';

/** What a database says when it has failed, and not the file. */
const OWN_FAULT = /^(Out of Memory|Interrupt) Error/i;

/** The damage that a reader met in the file at `path`; undefined where it was the database or the disk that failed. */
export function undecodable(object: string, path: string, error: unknown): FileDamage | undefined {
  if (!(error instanceof Error) || 'code' in error || OWN_FAULT.test(error.message)) return undefined;
  return new FileDamage(object, `it can not be decoded (${error.message.split('\n', 1)[0]?.replaceAll(path, object)})`);
}

/**
 * Looks at every record of an object: fetched whole into `folder`, its footer read by one reader and its rows by another, each value
 * rebuilt and digested, the offsets one behind the other but for the voids, and the times within what the footer says.
 */
export function decodeObject(database: Database, folder: string): LookInto {
  return async (store, entry) => {
    const body = await store.get(entry.object);
    if (body === undefined) throw new FileDamage(entry.object, GONE);
    const path = join(folder, `${entry.attempt}.parquet`);
    try {
      await writeFile(path, body);
      const footer = await readFooter(entry.object, await asyncBufferFromFile(path));
      await checkBounds(database, path, entry);
      await checkRecords(database, path, entry, footer);
      return footer;
    } finally {
      await rm(path, { force: true });
    }
  };
}

async function checkRecords(database: Database, path: string, entry: DataEntry, footer: Footer): Promise<void> {
  const { object, voids } = entry;
  let expected = behindHoles(footer.description.from, voids);
  try {
    const odd = await oddRow(database, path, footer.description);
    if (odd !== undefined) throw new FileDamage(object, `a column of offset ${odd} contradicts the others of its row`);
    for await (const records of readParquet(database, path, footer.description))
      for (const record of records) {
        checkRecord(object, record, expected, footer);
        expected = behindHoles(record.offset + 1, voids);
      }
  } catch (error) {
    throw damageOf(object, path, error);
  }
  if (expected !== entry.next) throw new FileDamage(object, `its rows end before offset ${expected}, and its entry at ${entry.next}`);
}

/** Before any other query: the database believes a footer's statistics, and finds nothing where they say that there is nothing. */
async function checkBounds(database: Database, path: string, { object }: DataEntry): Promise<void> {
  try {
    const buffer = await asyncBufferFromFile(path);
    const statistics = await readStatistics(object, buffer);
    await checkStatistics(database, object, path, statistics);
    await checkBloomFilters(database, object, path, buffer, statistics);
  } catch (error) {
    throw damageOf(object, path, error);
  }
}

/**
 * The offset of a row with columns that no record has: another partition's coordinates, a time that is no whole millisecond, or in a row
 * whose value is rebuilt a typed column that is not of it. Undefined where there is none. What the checksum covers is looked at elsewhere;
 * the typed columns of a `kept` row are what its writer made of the value, which is not repeated here.
 */
async function oddRow(
  database: Database,
  path: string,
  { topic, incarnation, partition, columns }: FileDescription,
): Promise<string | undefined> {
  const foreign = columns.map(({ name }) => `(${sqlName(name)} IS NOT NULL AND NOT list_contains(names, ${sqlText(name)}))`);
  const odd = [
    `topic IS DISTINCT FROM ${sqlText(topic)}`,
    `incarnation IS DISTINCT FROM ${sqlText(incarnation)}`,
    `"partition" IS DISTINCT FROM ${partition}`,
    'epoch_us(kafka_timestamp) % 1000 <> 0',
    `(value_state = 'rebuilt') <> (shape IS NOT NULL)`,
    `(value_state = 'kept') <> (value IS NOT NULL)`,
    `(value_state <> 'kept' AND (${foreign.join(' OR ')}))`,
  ];
  return await database.use(async (connection) => {
    const reader = await connection.runAndReadAll(`SELECT "offset"::VARCHAR FROM (SELECT *, coalesce(string_split(shape, ','), []) AS names
      FROM read_parquet(${sqlText(path)}, hive_partitioning = false)) WHERE ${odd.join(' OR ')} LIMIT 1`);
    const [offset] = reader.getRowsJS()[0] ?? [];
    return offset === undefined ? undefined : String(offset);
  });
}

function checkRecord(
  object: string,
  { offset, timestampMs }: LakeRecord,
  expected: number,
  { minTimestampMs, maxTimestampMs }: Footer,
): void {
  if (offset !== expected) throw new FileDamage(object, `offset ${offset} comes where ${expected} is next`);
  if (timestampMs < minTimestampMs || timestampMs > maxTimestampMs)
    throw new FileDamage(object, `the time of offset ${offset} is not within the bounds of its footer`);
}

/** The file was fetched whole, so what can not be decoded is damaged; unless it is the database or the disk that failed. */
function damageOf(object: string, path: string, error: unknown): unknown {
  if (error instanceof FileDamage) return error.file === object ? error : new FileDamage(object, error.what);
  return undecodable(object, path, error) ?? error;
}
