import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itemRows, meaningOfItem, meaningOfRequest, requestRows } from './bulk-outcomes.ts';
import { errorOf } from './search-client.ts';
import { testSearch } from './testing/search.ts';

const search = testSearch();
const { client, name } = search;
const index = `${name}-rows`;
const covered = new Set<unknown>();

interface ItemAnswer {
  readonly status: number;
  readonly error?: { readonly type?: string };
}

const put = (path: string, json: object) => client.demand({ method: 'PUT', path, json });
const clusterSetting = (setting: string, value: string | null) => put('/_cluster/settings', { transient: { [setting]: value } });

async function bulk(lines: readonly object[], query = {}): Promise<ItemAnswer> {
  const ndjson = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const body = (await client.demand({ method: 'POST', path: '/_bulk', query, ndjson })) as { items: readonly Record<string, ItemAnswer>[] };
  const answer = body.items[0]?.index;
  if (answer === undefined) throw new Error(`no answer: ${JSON.stringify(body)}`);
  return answer;
}

async function send(ndjson: Buffer) {
  const { status, body } = await client.request({ method: 'POST', path: '/_bulk', ndjson });
  return { status, error: errorOf(body), bytes: ndjson.length };
}

const write = (document: object, action = {}) => bulk([{ index: { _index: index, _id: 'x', ...action } }, document]);

/** Does something to an index of its own, writes to it, and takes both back. */
async function writeTo(suffix: string, create: object, prepare: (path: string) => Promise<unknown>, query = {}): Promise<ItemAnswer> {
  const path = `/${name}-${suffix}`;
  await client.demand({ method: 'PUT', path, json: create, query: { wait_for_active_shards: '0' } });
  await prepare(path);
  return bulk([{ index: { _index: path.slice(1) } }, { a: 1 }], query);
}

beforeAll(() =>
  put(`/${index}`, {
    settings: { number_of_replicas: 0 },
    mappings: { dynamic: false, properties: { n: { type: 'integer' }, k: { type: 'keyword' } } },
  }),
);
afterAll(() => search.remove());

const replicas = { settings: { number_of_replicas: 0 } };

/** What is done to the real server, and the row of the table that its answer must find. */
const itemCases: readonly [does: string, answer: () => Promise<ItemAnswer>, status: number, type: string | undefined, why: RegExp][] = [
  ['writes a document', () => write({ n: 1 }), 201, undefined, /written/],
  ['writes it again', () => write({ n: 1 }), 200, undefined, /written/],
  [
    'writes to an index that is not there',
    async () => {
      // Where indices are made by themselves, not this one.
      await clusterSetting('action.auto_create_index', `-${name}*,+*`);
      try {
        return await bulk([{ index: { _index: `${name}-gone` } }, {}]);
      } finally {
        await clusterSetting('action.auto_create_index', null);
      }
    },
    404,
    'index_not_found_exception',
    /deleted the index/,
  ],
  ['writes text into a number', () => write({ n: 'abc' }), 400, 'mapper_parsing_exception', /wrong type/],
  ['writes a term that is too long', () => write({ k: 'x'.repeat(40_000) }), 400, 'illegal_argument_exception', /wrong type/],
  [
    'writes a field that a strict mapping does not have',
    () => writeTo('strict', { ...replicas, mappings: { dynamic: 'strict' } }, async () => {}),
    400,
    'strict_dynamic_mapping_exception',
    /wrong type/,
  ],
  [
    'writes on a sequence number that has passed',
    () => write({ n: 2 }, { if_seq_no: 999, if_primary_term: 1 }),
    409,
    'version_conflict_engine_exception',
    /quicker/,
  ],
  [
    'writes to an index that the full disk has blocked',
    () => writeTo('flood', replicas, (path) => put(`${path}/_settings`, { 'index.blocks.read_only_allow_delete': true })),
    429,
    'cluster_block_exception',
    /disk is full/,
  ],
  [
    'writes to a shard that has no node',
    () =>
      writeTo('lost', { settings: { number_of_replicas: 0, 'index.routing.allocation.require.rack': 'none' } }, async () => {}, {
        timeout: '100ms',
      }),
    503,
    'unavailable_shards_exception',
    /not available/,
  ],
  [
    'writes to a closed index',
    () => writeTo('closed', replicas, (path) => client.demand({ method: 'POST', path: `${path}/_close` })),
    400,
    'index_closed_exception',
    /blamed/,
  ],
  [
    'writes to an index with a write block',
    () => writeTo('blocked', replicas, (path) => put(`${path}/_settings`, { 'index.blocks.write': true })),
    403,
    'cluster_block_exception',
    /blamed/,
  ],
];

describe('the answer to an item', () => {
  it.each(itemCases)('when one %s', async (_, provoke, status, type, why) => {
    const answer = await provoke();
    expect([answer.status, answer.error?.type]).toEqual([status, type]);
    const row = itemRows.find((candidate) => why.test(candidate.why));
    expect(meaningOfItem(answer.status, answer.error?.type)).toBe(row?.meaning);
    covered.add(row);
  });

  it('is known for every row but the full queue, which ten thousand writes that wait at the same time are needed for', () => {
    expect(itemRows.filter((row) => !covered.has(row)).map((row) => row.why)).toEqual(['the write queue of a node is full']);
    expect(meaningOfItem(429, 'rejected_execution_exception')).toBe('retry');
  });
});

const good = (bytes: number) => {
  const pair = `{"index":{"_index":"${index}","_id":"y"}}\n{"text":"${'x'.repeat(100_000)}"}\n`;
  return Buffer.from(pair.repeat(Math.ceil(bytes / pair.length)));
};

async function indexingMemoryLimitBytes(): Promise<number> {
  const stats = await client.demand({ method: 'GET', path: '/_nodes/_local/stats/indexing_pressure' });
  const { nodes } = stats as {
    readonly nodes: Readonly<Record<string, { readonly indexing_pressure: { readonly memory: { readonly limit_in_bytes: number } } }>>;
  };
  return Object.values(nodes)[0]?.indexing_pressure.memory.limit_in_bytes ?? 0;
}

describe('the answer to a whole bulk', () => {
  it('that is larger than the server takes: its halves, and a single record is dead', async () => {
    const { status, error, bytes } = await send(good(101 * 1024 * 1024));
    expect(status).toBe(413);
    expect(meaningOfRequest(status, error, 2, bytes)).toBe('split');
    expect(meaningOfRequest(status, error, 1, bytes)).toBe('dead');
  });

  it.each([
    ['an action that does not exist', '{"foo":{}}\n{}\n'],
    ['an action that is not JSON', 'x\n{}\n'],
    ['an id that is too long', `{"index":{"_index":"x","_id":"${'i'.repeat(513)}"}}\n{}\n`],
    ['no line end behind the last line', '{"index":{"_index":"x"}}\n{}'],
  ])('that can not be read (%s): its halves, and a single record is dead', async (_, body) => {
    const { status, error, bytes } = await send(Buffer.from(body));
    expect(status).toBe(400);
    expect(meaningOfRequest(status, error, 2, bytes)).toBe('split');
    expect(meaningOfRequest(status, error, 1, bytes)).toBe('dead');
  });

  it('that is above the memory for writes: its halves, and a single record waits', async () => {
    const limitBytes = await indexingMemoryLimitBytes();
    // A server with a large heap answers 413 first; `npm test` starts a small one.
    expect(limitBytes).toBeLessThan(90 * 1024 * 1024);
    const { status, error, bytes } = await send(good(1.1 * limitBytes));
    expect([status, error.type]).toEqual([429, 'rejected_execution_exception']);
    expect(meaningOfRequest(status, error, 2, bytes)).toBe('split');
    expect(meaningOfRequest(status, error, 1, bytes)).toBe('pause');
  });

  it('that trips the circuit breaker by itself: its halves, and a single record waits', async () => {
    await clusterSetting('network.breaker.inflight_requests.limit', '1mb');
    const { status, error, bytes } = await send(good(2_000_000)).finally(() =>
      clusterSetting('network.breaker.inflight_requests.limit', null),
    );
    expect([status, error.type]).toEqual([429, 'circuit_breaking_exception']);
    expect(meaningOfRequest(status, error, 2, bytes)).toBe('split');
    expect(meaningOfRequest(status, error, 1, bytes)).toBe('pause');
  });

  it('that nobody thought of: wait', async () => {
    const answer = await fetch(`${search.url}/_bulk`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' });
    expect(answer.status).toBe(406);
    expect(meaningOfRequest(answer.status, {}, 5, 100)).toBe('pause');
    expect(requestRows.at(-1)?.status).toEqual([100, 599]);
  });
});
