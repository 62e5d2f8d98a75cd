import type { AsyncBuffer } from 'hyparquet';
import { readBloomFilter, sbbfContains } from 'hyparquet/src/bloom.js';
import { xxhash64 } from 'hyparquet/src/xxhash.js';
import { type Database, sqlName } from './duckdb.ts';
import { FileDamage } from './file-damage.ts';
import { type Bound, type FooterStatistics, placedRowsSql, type RowGroup } from './statistics.ts';

/**
 * Whether every value of a column is in the Bloom filter of its row group, where it has one: by a wrong one readers skip row groups that have the
 * value that they look for. The statistics must have been found right before, since this query believes them. `file` is its name in messages.
 * Throws FileDamage with column and row group, or what the buffer throws.
 */
export async function checkBloomFilters(
  database: Database,
  file: string,
  path: string,
  buffer: AsyncBuffer,
  { columns, groups }: FooterStatistics,
): Promise<void> {
  for (const [c, { name, toBound, toBytes }] of columns.entries()) {
    const filters = await Promise.all(groups.map(({ filters }) => readFilter(file, name, buffer, filters[c])));
    if (filters.every((filter) => filter === undefined)) continue;
    await database.use(async (connection) => {
      const column = sqlName(name);
      const result = await connection.stream(
        `SELECT place, ${toBound('held')} FROM (SELECT DISTINCT place, ${column} AS held FROM ${placedRowsSql(path, groups)})`,
      );
      for await (const rows of result.yieldRowsJs())
        for (const [place, value] of rows) {
          const filter = filters[Number(place)];
          if (filter === undefined || value === null) continue;
          if (!sbbfContains(filter.blocks, xxhash64(toBytes(value as Bound))))
            throw new FileDamage(file, `the Bloom filter of column ${name} in row group ${place} leaves one of its values out`);
        }
    });
  }
}

type BloomFilter = NonNullable<ReturnType<typeof readBloomFilter>>;

async function readFilter(
  file: string,
  column: string,
  buffer: AsyncBuffer,
  place: RowGroup['filters'][number],
): Promise<BloomFilter | undefined> {
  if (place === undefined) return undefined;
  const view = new DataView(await buffer.slice(place.first, place.next));
  const filter = readBloomFilter({ view, offset: 0 });
  if (filter === undefined) throw new FileDamage(file, `the Bloom filter of column ${column} is of a kind that no release writes`);
  return filter;
}
