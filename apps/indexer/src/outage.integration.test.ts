import { layWire } from '@tailrace/kafka-kit/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { DailyIndices } from './daily-indices.ts';
import { IncarnationGate } from './incarnation-gate.ts';
import { indexOfDay } from './index-names.ts';
import { IndexSink } from './index-sink.ts';
import { NoAnswer, SearchClient, SearchRefusal } from './search-client.ts';
import { batchOf } from './testing/batch.ts';
import { testSearch } from './testing/search.ts';

const T = '"timestamp":"2026-01-31T23:59:59.5Z","service":"web"';
const search = testSearch();
const line = await layWire(search.url);
const client = new SearchClient({ url: line.url });
const indices = new DailyIndices(client, { name: search.name, shards: 1, replicas: 0 });
const sink = new IndexSink(
  { indexName: search.name, retentionDays: 14, maxBulkBytes: 1_000_000, bulksAtOnce: 4 },
  { client, indices, incarnations: new IncarnationGate(async () => 'AbCd-_12'), nowMs: Date.now },
);
const write = (values: readonly string[], signal = new AbortController().signal) =>
  sink.write(batchOf(values.map((value) => ({ value }))), signal);
const today = indexOfDay(search.name, Date.now());

afterAll(async () => {
  await client.close();
  line.end();
  await search.remove();
});

describe('an outage', () => {
  it('is thrown, never an outcome, and the same batch goes through when it is over', async () => {
    line.cut();
    await expect(write([`{${T}}`])).rejects.toThrow(NoAnswer);
    line.mend();
    expect(await write([`{${T}}`])).toEqual([{ kind: 'stored' }]);
    line.cut();
    await expect(write([`{${T}}`, 'not json'])).rejects.toThrow('OpenSearch gave no answer');
    line.mend();
    expect(await write([`{${T}}`, 'not json'])).toMatchObject([{ kind: 'stored' }, { kind: 'dead', reason: 'not-json' }]);
    expect((await search.documents(3)).size).toBe(1);
  });

  it('ends at once for a lane that is given up', async () => {
    line.hold();
    const giveUp = new AbortController();
    const writing = write([`{${T}}`], giveUp.signal);
    setImmediate(() => giveUp.abort());
    await expect(writing).rejects.toThrow(NoAnswer);
    line.mend();
  });

  it('is a blocked index: every record waits, and the sentence says which', async () => {
    await search.client.demand({ method: 'PUT', path: `/${today}/_settings`, json: { 'index.blocks.write': true } });
    await expect(write([`{${T}}`])).rejects.toThrow(SearchRefusal);
    await expect(write([`{${T}}`])).rejects.toThrow(`refuses writes to ${today} with 403: cluster_block_exception`);
    await search.client.demand({ method: 'PUT', path: `/${today}/_settings`, json: { 'index.blocks.write': null } });
    expect(await write([`{${T}}`])).toEqual([{ kind: 'stored' }]);
  });
});
