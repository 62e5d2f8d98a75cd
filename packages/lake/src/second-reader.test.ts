import { readFile } from 'node:fs/promises';
import { generateEvents, parquetColumns } from '@tailrace/events';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import type { LakeRecord } from './records.ts';
import { inFolder, readRecords, recordAt, rowsOf, writeRecords } from './testing/index.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

const ROWS = 5000;

function traffic(): { events: readonly Record<string, unknown>[]; records: readonly LakeRecord[] } {
  const generator = generateEvents({ seed: 7, nowMs: () => 1_767_323_045_123 });
  const events = Array.from({ length: ROWS }, () => generator.next().value as Record<string, unknown>);
  const records = events.map((event, i) => {
    // Half of the services write their fields in an order of their own.
    const fields = Object.entries(event);
    return recordAt(i, JSON.stringify(i % 2 === 0 ? event : Object.fromEntries([...fields.slice(3), ...fields.slice(0, 3)])), {
      key: Buffer.from(String(event.customer_id)),
    });
  });
  return { events, records };
}

describe('generated traffic in the lake', () => {
  it('is rebuilt without exception, whatever the order of its fields', async () => {
    const { records } = traffic();
    await inFolder(async (folder) => {
      const file = await writeRecords(database, folder, records);
      const states = await rowsOf(database, `SELECT value_state, count(*)::INT AS n FROM '${file.path}' GROUP BY 1`);
      expect(states).toEqual([{ value_state: 'rebuilt', n: ROWS }]);
      expect(await readRecords(database, file)).toEqual(records);
    });
  });

  it('is read value for value by a second reader that shares no code with the writer', async () => {
    const { events, records } = traffic();
    await inFolder(async (folder) => {
      const { path } = await writeRecords(database, folder, records);
      const body = await readFile(path);
      const rows = await parquetReadObjects({ file: new Uint8Array(body).buffer, compressors, utf8: false });
      expect(rows.length).toBe(ROWS);
      rows.forEach((row, i) => {
        const event = events[i] ?? {};
        const want = parquetColumns.map(({ name, kind }) => {
          const value = event[name];
          if (value === undefined) return [name, undefined];
          return [name, kind === 'instant' ? new Date(String(value)) : name === 'bytes' ? BigInt(String(value)) : value];
        });
        expect(Object.fromEntries(parquetColumns.map(({ name }) => [name, row[name] ?? undefined]))).toEqual(Object.fromEntries(want));
        expect(Number(row.offset)).toBe(i);
        expect(Buffer.from(row.key as Uint8Array).toString()).toBe(event.customer_id);
      });
    });
  });
});
