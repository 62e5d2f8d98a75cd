import { afterAll, expect, test } from 'vitest';
import { DailyIndices } from './daily-indices.ts';
import { IncarnationGate } from './incarnation-gate.ts';
import { indexOfDay } from './index-names.ts';
import { IndexSink } from './index-sink.ts';
import { batchOf } from './testing/batch.ts';
import { testSearch } from './testing/search.ts';

const DAY_MS = 86_400_000;
const RETENTION_DAYS = 14;
const now = Date.UTC(2026, 5, 15, 10);
const longAgo = now - 400 * DAY_MS;
const search = testSearch();

/** A sink of a process that knows nothing of the indices yet. */
function sinkAt(nowMs: number, indices = new DailyIndices(search.client, { name: search.name, shards: 1, replicas: 0 })): IndexSink {
  return new IndexSink(
    { indexName: search.name, retentionDays: RETENTION_DAYS, maxBulkBytes: 1_000_000, bulksAtOnce: 4 },
    { client: search.client, indices, incarnations: new IncarnationGate(async () => 'sideLife'), nowMs: () => nowMs },
  );
}

/** Writes a replayed record of `timestampMs`, kept for so many days. */
function write(sink: IndexSink, offset: number, timestampMs: number, days?: number) {
  const origin = { topic: 'service-events', incarnation: 'AbCd-_12', partition: 0, offset, timestampMs };
  const notes = days === undefined ? [] : ([['replay.keep_days', Buffer.from(String(days))]] as const);
  const value = '{"timestamp":"2025-05-11T10:00:00Z","service":"web"}';
  const source = { topic: 'service-events.indexer.replay', partition: 0, incarnation: 'sideLife' };
  return sink.write(batchOf([{ value, origin, notes }], source), new AbortController().signal);
}

async function metaOf(timeMs: number): Promise<unknown> {
  const index = indexOfDay(search.name, timeMs);
  const { status, body } = await search.client.request({ method: 'GET', path: `/${index}/_mapping` });
  if (status !== 200) return status;
  return (body as Readonly<Record<string, { readonly mappings: { readonly _meta: unknown } }>>)[index]?.mappings._meta;
}

afterAll(() => search.remove());

test('a record beyond retention is skipped, and no index is made for it, unless a note says for how many days to keep it', async () => {
  const sink = sinkAt(now);
  expect(await write(sink, 1, longAgo)).toEqual([{ kind: 'skipped', reason: 'beyond-retention' }]);
  expect(await metaOf(longAgo)).toBe(404);
  expect(await write(sink, 1, longAgo, 30)).toEqual([{ kind: 'stored' }]);
  expect(await metaOf(longAgo)).toEqual({ event_version: '1.0', expires_at: '2026-07-16T00:00:00.000Z' });
  expect([...(await search.documents(0)).keys()]).toEqual(['service-events~AbCd-_12-0-1']);
  // The index stands, and the rule is the same.
  expect(await write(sink, 2, longAgo)).toEqual([{ kind: 'skipped', reason: 'beyond-retention' }]);
});

test('the latest expiry stays, whoever wrote it, and of an index that is made anew it is written again', async () => {
  const indices = new DailyIndices(search.client, { name: search.name, shards: 1, replicas: 0 });
  const sink = sinkAt(now, indices);
  const day = longAgo - DAY_MS;
  await write(sink, 3, day, 30);
  await write(sinkAt(now), 4, day, 90);
  await write(sink, 5, day, 60);
  await write(sinkAt(now), 6, day, 10);
  expect(await metaOf(day)).toMatchObject({ expires_at: '2026-09-14T00:00:00.000Z' });
  await search.client.demand({ method: 'DELETE', path: `/${indexOfDay(search.name, day)}` });
  // It is looked at again behind the answer that it is missing.
  expect(await write(sink, 7, day, 60)).toMatchObject([{ kind: 'retry', reason: 'missing-index' }]);
  expect(await write(sink, 7, day, 60)).toEqual([{ kind: 'stored' }]);
  expect(await metaOf(day)).toEqual({ event_version: '1.0', expires_at: '2026-08-15T00:00:00.000Z' });
});

test('an index within retention gets no expiry', async () => {
  expect(await write(sinkAt(now), 8, now - DAY_MS, 90)).toEqual([{ kind: 'stored' }]);
  expect(await metaOf(now - DAY_MS)).toEqual({ event_version: '1.0' });
});

test('a foreign index of a day beyond retention stops who would write to it, and is no fault of the live index', async () => {
  const indices = new DailyIndices(search.client, { name: search.name, shards: 1, replicas: 0 });
  const day = longAgo - 2 * DAY_MS;
  const json = { mappings: { dynamic: true }, settings: { number_of_replicas: 0 } };
  await search.client.demand({ method: 'PUT', path: `/${indexOfDay(search.name, day)}`, json });
  await search.client.demand({ method: 'PUT', path: `/${indexOfDay(search.name, day)}/_mapping`, json: { dynamic: true } });
  await expect(write(sinkAt(now, indices), 9, day, 5)).rejects.toThrow('its mapping is dynamic');
  expect(indices.fault).toBeUndefined();
});
