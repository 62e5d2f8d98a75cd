import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { DailyIndices } from './daily-indices.ts';
import { IncarnationGate } from './incarnation-gate.ts';
import { indexOfDay, writeAliasOf } from './index-names.ts';
import { IndexSink } from './index-sink.ts';
import { SearchRefusal } from './search-client.ts';
import { batchOf } from './testing/batch.ts';
import { testSearch } from './testing/search.ts';

const T = '"timestamp":"2026-01-31T23:59:59.5Z","service":"web"';
const GOOD = `{${T}}`;
/** Is not refused by our mapping, but by one that is strict. */
const ODD = `{${T},"attributes":{"a":1},"a":2}`;
const search = testSearch();
const { client, indices, name } = search;
const fallbacks: string[] = [];
const sink = new IndexSink(
  { indexName: name, retentionDays: 14, maxBulkBytes: 1_000_000, bulksAtOnce: 4 },
  {
    client,
    indices,
    incarnations: new IncarnationGate(async () => 'AbCd-_12'),
    nowMs: Date.now,
    onFallback: (detail) => fallbacks.push(detail),
  },
);
const today = indexOfDay(name, Date.now());
const nowMs = Date.now();
let offset = 0;
const write = (values: readonly string[] = [GOOD], at = offset++) =>
  sink.write(
    batchOf(
      values.map((value) => ({ value, timestampMs: nowMs })),
      { topic: 'service-events', partition: 3, incarnation: 'AbCd-_12' },
      at,
    ),
    new AbortController().signal,
  );
const put = (path: string, json: object) => client.demand({ method: 'PUT', path, json });
const remove = (path: string) => client.request({ method: 'DELETE', path });
const lookAround = () => indices.lookAround(today, today);
/** One replica less than the default, so that nothing waits for a second node. */
const alone = { 'index.number_of_replicas': 0 };
const foreignTemplate = (mappings: object, settings: object = {}) =>
  put(`/_index_template/${name}-foreign`, {
    index_patterns: [`${name}-*`],
    priority: 5000,
    template: { settings: { ...alone, ...settings }, mappings },
  });
const found = async () => {
  const body = (await client.demand({ method: 'GET', path: `/${today}` })) as Record<string, { mappings: object; aliases: object }>;
  return body[today];
};
const documents = async () => (await search.documents(3)).size;
const isOurs = async () =>
  expect(await found()).toMatchObject({
    mappings: { dynamic: 'false', properties: { service: { type: 'keyword' }, attributes: { type: 'flat_object' } } },
    aliases: { [name]: {}, [writeAliasOf(today)]: { is_hidden: true } },
  });

beforeEach(async () => {
  await remove(`/${name}-*`);
  await remove(`/_index_template/${name}*`);
  indices.forget(today);
  fallbacks.length = 0;
});
afterAll(() => search.remove());

describe('a foreign template that wins over ours', () => {
  it('does not decide how our index is made', async () => {
    await foreignTemplate(
      { dynamic: 'strict', properties: { service: { type: 'text' }, other: { type: 'keyword' } } },
      { 'index.translog.durability': 'async', 'index.default_pipeline': 'nowhere', 'index.mapping.ignore_malformed': true },
    );
    expect(await write([GOOD, ODD])).toEqual([{ kind: 'stored' }, { kind: 'stored' }]);
    await isOurs();
    expect(await documents()).toBe(2);
    expect(indices.fault).toBeUndefined();
  });

  it.each([
    ['can not be merged with ours', { properties: { attributes: { properties: { a: { type: 'integer' } } } } }, 'does not make the index'],
    ['leaves a trace in the index', { _source: { enabled: false } }, 'because its mapping sets _source'],
    ['has a field under the name of what is kept as text', { properties: { event_raw: { type: 'integer' } } }, 'has the field event_raw'],
  ])('is named when it %s, and nothing is written until it is gone', async (_, mappings, why) => {
    await foreignTemplate(mappings);
    await expect(write()).rejects.toThrow(SearchRefusal);
    await expect(write()).rejects.toThrow(why);
    await lookAround();
    expect(indices.fault).toContain(`the index template ${name}-foreign with priority 5000 wins`);
    expect(indices.fault).toContain(today);
    await remove(`/_index_template/${name}-foreign`);
    await remove(`/${today}`);
    expect(await write()).toEqual([{ kind: 'stored' }]);
    expect(indices.fault).toBeUndefined();
    await isOurs();
    expect(await documents()).toBe(1);
  });
});

describe('an index that is gone while the indexer runs', () => {
  it('is never made by the write itself, but anew with mapping and alias, also without the template', async () => {
    await write();
    await remove(`/${today}`);
    await remove(`/_index_template/${name}`);
    expect(await write()).toMatchObject([{ kind: 'retry', reason: 'missing-index' }]);
    expect((await client.request({ method: 'HEAD', path: `/${today}` })).status).toBe(404);
    expect(await write()).toEqual([{ kind: 'stored' }]);
    await isOurs();
  });

  it('is made anew by many processes at the same time, once, and no alias but ours is left', async () => {
    const many = Array.from({ length: 12 }, () => new DailyIndices(client, { name, shards: 1, replicas: 0 }));
    await Promise.all(many.map((one) => one.ensure([today])));
    await lookAround();
    expect(Object.keys((await found())?.aliases ?? {}).sort()).toEqual([name, writeAliasOf(today)]);
    expect(await write()).toEqual([{ kind: 'stored' }]);
  });

  it('is made anew by the next look when nothing is written', async () => {
    await write();
    await remove(`/${today}`);
    await lookAround();
    await isOurs();
    expect(await documents()).toBe(0);
  });

  it('and was made anew by somebody else gets nothing, until that one is deleted', async () => {
    await write();
    await remove(`/${today}`);
    await remove(`/_index_template/${name}`);
    await put(`/${today}/_doc/theirs`, { service: 'theirs' });
    expect(await write()).toMatchObject([{ kind: 'retry', reason: 'missing-index' }]);
    await expect(write()).rejects.toThrow(
      `Nothing is written to the index ${today}, because its mapping is dynamic: true instead of false`,
    );
    await client.demand({ method: 'POST', path: `/${today}/_refresh` });
    expect(await client.demand({ method: 'GET', path: `/${today}/_count` })).toMatchObject({ count: 1 });
    await remove(`/${today}`);
    expect(await write()).toEqual([{ kind: 'stored' }]);
    await isOurs();
  });

  it('again and again, under writes all the time, and is made anew by others: those never get a document', {
    timeout: 60_000,
  }, async () => {
    let over = false;
    const kinds = new Set<string>();
    const writeOn = async () => {
      // A refusal is an outage, after which the runtime hands the batch over again.
      const outcomes = await write().catch((fault: unknown) => {
        if (!(fault instanceof SearchRefusal)) throw fault;
        return [];
      });
      for (const outcome of outcomes) kinds.add(outcome.kind === 'retry' ? outcome.reason : outcome.kind);
    };
    const writer = async () => {
      while (!over) await writeOn();
    };
    const writers = [writer(), writer(), writer()];
    let foreign = 0;
    try {
      for (let round = 0; round < 15; round++) {
        await remove(`/_index_template/${name}`);
        await remove(`/${today}`);
        await client.request({ method: 'PUT', path: `/${today}/_doc/theirs`, query: { refresh: 'true' }, json: { service: 'theirs' } });
        if (!JSON.stringify(await found()).includes('"dynamic":"false"')) {
          foreign++;
          await Promise.all([writeOn(), writeOn()]);
          await client.demand({ method: 'POST', path: `/${today}/_refresh` });
          expect(await client.demand({ method: 'GET', path: `/${today}/_count` })).toMatchObject({ count: 1 });
        }
      }
    } finally {
      over = true;
    }
    await Promise.all(writers);
    // Else the test has not tried what it is for.
    expect(foreign).toBeGreaterThan(0);
    expect([...kinds].filter((kind) => kind !== 'stored' && kind !== 'missing-index')).toEqual([]);
    await remove(`/${today}`);
    await lookAround();
    await isOurs();
    expect(Object.keys((await client.demand({ method: 'GET', path: `/${name}-*` })) as object)).toEqual([today]);
  });

  it('in part: the alias alone is given back', async () => {
    await write();
    await client.demand({ method: 'DELETE', path: `/${today}/_alias/${name}` });
    await lookAround();
    await isOurs();
    expect(indices.fault).toBeUndefined();
    expect(await documents()).toBe(1);
  });

  it('from an earlier version, without a write alias, is taken over with its documents', async () => {
    await write();
    await client.demand({ method: 'DELETE', path: `/${today}/_alias/${writeAliasOf(today)}` });
    expect(await write()).toMatchObject([{ kind: 'retry', reason: 'missing-index' }]);
    expect(await write()).toEqual([{ kind: 'stored' }]);
    expect(await documents()).toBe(2);
  });
});

describe('an index of our name that is not ours', () => {
  it.each([
    ['strict', { dynamic: 'strict', properties: { service: { type: 'integer' } } }, 'dynamic: strict instead of false'],
    ['of wrong types', { dynamic: false, properties: { service: { type: 'integer' } } }, 'lacks the field timestamp'],
    ['empty', {}, 'dynamic: true instead of false'],
  ])('and is %s makes no record dead: the batch waits, and goes through when the index is gone', async (_, mappings, why) => {
    await put(`/${today}`, { settings: alone, mappings });
    for (let tries = 0; tries < 2; tries++) await expect(write([GOOD, ODD])).rejects.toThrow(`because its mapping`);
    expect(indices.fault).toContain(why);
    await remove(`/${today}`);
    expect(await write([GOOD, ODD])).toEqual([{ kind: 'stored' }, { kind: 'stored' }]);
    expect(indices.fault).toBeUndefined();
    await isOurs();
    expect(await documents()).toBe(2);
  });

  it('any more, because somebody made its mapping strict: what it refuses is not dead, and goes through when that is put right', async () => {
    await write();
    await put(`/${today}/_mapping`, { dynamic: 'strict' });
    await expect(write([ODD])).rejects.toThrow('dynamic: strict instead of false');
    // Nor does any other process write into it.
    expect(await found()).not.toHaveProperty(['aliases', writeAliasOf(today)]);
    await put(`/${today}/_mapping`, { dynamic: false });
    expect(await write([ODD])).toEqual([{ kind: 'stored' }]);
    expect(await documents()).toBe(2);
  });

  it('any more, because somebody set a pipeline: what that refuses is not dead', async () => {
    await write();
    await put(`/${today}/_settings`, { 'index.default_pipeline': 'nowhere' });
    await expect(write()).rejects.toThrow('its setting index.default_pipeline is nowhere instead of _none');
    await put(`/${today}/_settings`, { 'index.default_pipeline': null });
    expect(await write()).toEqual([{ kind: 'stored' }]);
    expect(fallbacks).toEqual([]);
  });

  it('is seen by the next look when nothing is refused', async () => {
    await write();
    await put(`/${today}/_settings`, { 'index.translog.durability': 'async' });
    await lookAround();
    expect(indices.fault).toContain('its setting index.translog.durability is async instead of request');
    await expect(write()).rejects.toThrow(SearchRefusal);
    await put(`/${today}/_settings`, { 'index.translog.durability': null });
    await lookAround();
    expect(indices.fault).toBeUndefined();
    expect(await write()).toEqual([{ kind: 'stored' }]);
  });

  it('and bears our write alias, as a restored copy does, loses it, and no document is degraded by it', async () => {
    await write();
    await put(`/${name}-copy`, { settings: alone, aliases: { [writeAliasOf(today)]: { is_hidden: true } } });
    await expect(write()).rejects.toThrow('was not in order and has been mended');
    expect(await write()).toEqual([{ kind: 'stored' }]);
    expect(fallbacks).toEqual([]);
  });
});
