import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { addDigest } from '@tailrace/kafka-kit/digest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import { recordDigest } from './record-digest.ts';
import type { LakeRecord } from './records.ts';
import { RowFile } from './row-file.ts';
import { sliceTotals } from './row-file-sql.ts';
import { inFolder, recordAt } from './testing/index.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

const rows = (first: number, next: number): LakeRecord[] =>
  Array.from({ length: next - first }, (_, i) =>
    recordAt(first + i, `v${i}`, { timestampMs: 1000 - i, key: Buffer.from('k'), headers: [['h', Buffer.from('xy')]] }),
  );
const sum = (records: readonly LakeRecord[]): bigint => records.map(recordDigest).reduce(addDigest, 0n);

describe('a row file', () => {
  it('counts what it holds: the same as counting its rows again, whole or in part', async () => {
    await inFolder(async (folder) => {
      const file = await RowFile.create(join(folder, 'rows'));
      expect(file.totals).toBeUndefined();
      await file.append(rows(5, 2505));
      await file.append(rows(2505, 2600));
      await file.close();
      const all = [...rows(5, 2505), ...rows(2505, 2600)];
      expect(file.totals).toEqual({
        rows: 2595,
        firstOffset: 5,
        lastOffset: 2599,
        minTimestampMs: 1000 - 2499,
        maxTimestampMs: 1000,
        checksum: sum(all),
      });
      expect(await sliceTotals(database, { file, first: 0, next: 9999 })).toEqual(file.totals);
      const part = all.slice(95, 195);
      expect(await sliceTotals(database, { file, first: 100, next: 200 })).toMatchObject({
        rows: 100,
        firstOffset: 100,
        lastOffset: 199,
        checksum: sum(part),
      });
      expect(await sliceTotals(database, { file, first: 9000, next: 9999 })).toBeUndefined();
      expect([file.fileBytes, file.rawBytes]).toEqual([
        (await stat(file.path)).size,
        all.reduce((bytes, { value }) => bytes + 1 + (value?.length ?? 0) + 2, 0),
      ]);
    });
  });

  it('forgets what is behind a mark, and writes over what a failed write left behind', async () => {
    await inFolder(async (folder) => {
      const file = await RowFile.create(join(folder, 'rows'));
      await file.append(rows(0, 10));
      const { fileBytes, totals } = file;
      const mark = file.mark();
      await file.append(rows(10, 20));
      file.rollBack(mark);
      expect([file.fileBytes, file.totals]).toEqual([fileBytes, totals]);
      await file.append(rows(10, 12));
      await file.close();
      expect((await readFile(file.path, 'latin1')).trimEnd().split('\n')).toHaveLength(12);
      expect(await sliceTotals(database, { file, first: 0, next: 99 })).toEqual(file.totals);
    });
  });

  it('takes nothing of records that can not all be written', async () => {
    await inFolder(async (folder) => {
      const file = await RowFile.create(join(folder, 'rows'));
      await file.append(rows(0, 10));
      const { totals } = file;
      const broken = function* () {
        yield* rows(10, 2010);
        throw new Error('half way');
      };
      await expect(file.append(broken())).rejects.toThrow('half way');
      expect(file.totals).toEqual(totals);
      await file.close();
      expect(await sliceTotals(database, { file, first: 0, next: 9999 })).toEqual(totals);
      await file.delete();
      await expect(stat(file.path)).rejects.toThrow('ENOENT');
    });
  });

  it('never overwrites a file', async () => {
    await inFolder(async (folder) => {
      const file = await RowFile.create(join(folder, 'rows'));
      await expect(RowFile.create(join(folder, 'rows'))).rejects.toThrow('EEXIST');
      await file.close();
    });
  });
});
