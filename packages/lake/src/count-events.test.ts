import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countEvents } from './count-events.ts';
import { Database } from './duckdb.ts';
import { inFolder, recordAt, writeRecords } from './testing/index.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

/** What is counted of a file with these values, and how many bytes of it were read. */
async function counted(
  values: readonly string[],
): Promise<{ readonly events: number; readonly readBytes: number; readonly bytes: number }> {
  return await inFolder(async (folder) => {
    const { path } = await writeRecords(
      database,
      folder,
      values.map((value, i) => recordAt(i, value)),
    );
    const body = await readFile(path);
    let readBytes = 0;
    const events = await countEvents({
      byteLength: body.length,
      slice: (start, end = body.length) => {
        const bytes = new Uint8Array(body.subarray(start, end));
        readBytes += bytes.length;
        return bytes.buffer;
      },
    });
    return { events, readBytes, bytes: body.length };
  });
}

const CANARY = '{"service":"tailrace.canary"}';

it.each<[string, readonly string[], number]>([
  ['no canary', ['{"service":"a"}', '{"service":"b"}', 'no JSON'], 3],
  ['canaries alone', [CANARY, CANARY], 0],
  ['canaries among services on both sides of their name', ['{"service":"a"}', CANARY, '{"service":"z"}', CANARY, 'no JSON'], 3],
  ['bounds that leave room, and no canary', ['{"service":"a"}', '{"service":"z"}'], 2],
  ['no service at all', ['no JSON', '{}'], 2],
])('of a file with %s all rows count but the canaries', async (_, values, events) => {
  expect((await counted(values)).events).toBe(events);
});

it('of a large file without canaries the footer alone is read', async () => {
  const filler = (i: number): string =>
    JSON.stringify({ service: 'checkout', message: Array.from({ length: 40 }, (_, k) => ((i + 7) * (k + 13)) ** 3).join() });
  const { events, readBytes, bytes } = await counted(Array.from({ length: 5000 }, (_, i) => filler(i)));
  expect(bytes).toBeGreaterThan(1_000_000);
  expect([events, readBytes <= 600_000]).toEqual([5000, true]);
});
