import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterAdmin, connectAdmin, type KafkaSettings, TopicIdentity } from '@tailrace/kafka-kit';
import { deleteRecordsBefore, produceForeign } from '@tailrace/kafka-kit/testing';
import { buildObject, type ChainId, Database, dataEntry, Ledger, lakeLayout, RowFile, S3Store } from '@tailrace/lake';
import { kafkaVariables, loadConfig, s3Variables } from '@tailrace/service';
import { endpointsFromEnvironment, environmentOf } from '@tailrace/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { backtestCommand } from './backtest-command.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** One event a second in each of the two partitions, for half an hour. */
const BASE_MS = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 3 * HOUR_MS;
const COUNT = 1800;
/** The lake ends here in each partition. */
const ARCHIVED = 1200;
const topic = `backtest-${randomUUID().slice(0, 8)}`;
const environment = { ...environmentOf(endpointsFromEnvironment()), TAILRACE_LAKE_PREFIX: topic };
const config = loadConfig({ kafka: kafkaVariables, s3: s3Variables }, environment);
const settings: KafkaSettings = { ...config.kafka, clientId: 'backtest-test' };
const store = new S3Store(config.s3);
const ledger = new Ledger(store, lakeLayout(config.s3));
const timeOf = (offset: number): number => BASE_MS + offset * 1000;
const iso = (ms: number): string => new Date(ms).toISOString();

/** Errors in both partitions together: 300 to 359 of partition 0, and 1000 to 1039 of both. */
function isError(partition: number, offset: number): boolean {
  return (partition === 0 && offset >= 300 && offset < 360) || (offset >= 1000 && offset < 1040);
}

function eventAt(partition: number, offset: number): Buffer {
  const status = isError(partition, offset) ? 503 : 200;
  return Buffer.from(JSON.stringify({ timestamp: iso(timeOf(offset)), service: 'shop', status_code: status }));
}

const RULES = `rules:
  - name: errors
    summary: "{service} answers with errors"
    where: status_code >= 500
    group_by: [service]
    measure: count
    window: 1m
    condition: "> 40"
    response: {do: look, do_not: restart}
  - name: silence
    summary: nothing comes
    measure: absence
    window: 1m
    remember: 10m
    response: {do: look, do_not: restart}
`;

let admin: ClusterAdmin;
let folder: string;
let database: Database;
let incarnation: string;
let rules: string;

beforeAll(async () => {
  admin = await connectAdmin(settings);
  folder = await mkdtemp(join(tmpdir(), 'tailrace-backtest-'));
  database = await Database.open();
  rules = join(folder, 'rules.yaml');
  await writeFile(rules, RULES);
  const configs = { 'message.timestamp.type': 'CreateTime', 'retention.ms': '-1' };
  const spec = { name: topic, key: 'none', partitions: 2, replicationFactor: 1, configs } as const;
  await admin.apply([{ kind: 'create', topic, spec }]);
  const identity = new TopicIdentity(settings);
  incarnation = (await identity.lookUp(topic, 10_000)) ?? '';
  identity.close();
  for (const partition of [0, 1]) {
    for (let first = 0; first < COUNT; first += 100) {
      const records = Array.from({ length: 100 }, (_, i) => first + i).map((offset) => ({
        partition,
        key: null,
        value: eventAt(partition, offset),
        headers: new Map<Buffer, Buffer>(),
        timestampMs: BigInt(timeOf(offset)),
      }));
      await produceForeign(settings, topic, records);
    }
    for (let first = 0; first < ARCHIVED; first += 400) await archive(partition, first, first + 400);
  }
  // What is archived is only in the lake, but for an overlap.
  for (const partition of [0, 1]) await deleteRecordsBefore(settings, { topic, partition }, 1100);
});

afterAll(async () => {
  await admin.deleteTopics([topic]);
  await admin.close();
  database.close();
  store.close();
  await rm(folder, { recursive: true });
});

/** Archives offsets `[first, next)` as one object, by the lake's own writer. */
async function archive(partition: number, first: number, next: number): Promise<void> {
  const file = await RowFile.create(join(folder, randomUUID()));
  const offsets = Array.from({ length: next - first }, (_, i) => first + i);
  await file.append(
    offsets.map((offset) => ({ offset, timestampMs: timeOf(offset), key: null, value: eventAt(partition, offset), headers: [] })),
  );
  await file.close();
  const chain: ChainId = { topic, incarnation, partition };
  const range = { first, next, voids: [] };
  const built = await buildObject(database, chain, { file, ...range }, join(folder, `${randomUUID()}.parquet`));
  const entry = dataEntry(ledger.lake, chain, range, built.totals, randomUUID());
  await ledger.claim(chain, entry);
  await store.putIfAbsent(entry.object, await readFile(built.path));
}

async function run(flags: { from?: number; to?: number; rule?: string; json?: boolean; rules?: string } = {}) {
  let out = '';
  let told = '';
  const { from = 0, to = COUNT, ...rest } = flags;
  const code = await backtestCommand(
    { rules, from: iso(timeOf(from)), to: iso(timeOf(to)), ...rest },
    {
      out: (text) => {
        out += text;
      },
      note: (text) => {
        told += text;
      },
      nowMs: Date.now,
      environment,
      signal: new AbortController().signal,
    },
    [topic],
  );
  return { code, out, told };
}

it('says when rules would have fired, over lake and Kafka as if all were one log', async () => {
  const { code, out } = await run({ json: true });
  expect(code).toBe(0);
  const result = JSON.parse(out);
  expect(result).toMatchObject({ from: iso(BASE_MS), records: { lake: 2 * ARCHIVED, kafka: 2 * (COUNT - ARCHIVED) }, unreadable: [] });
  const [errors, silence] = result.rules;
  // The 41st error of the first burst is 340; of the second, in both partitions, the second one of 1020.
  expect(errors).toMatchObject({
    rule: 'errors',
    fired: 2,
    firingAtStart: 0,
    firingAtEnd: 0,
    firstAt: iso(timeOf(341)),
    lastAt: iso(timeOf(1021)),
    groups: [{ group: ['shop'], fired: 2 }],
    leftOut: 0,
  });
  expect(errors.days.reduce((sum: number, { fired }: { fired: number }) => sum + fired, 0)).toBe(2);
  expect(silence).toMatchObject({ rule: 'silence', fired: 0 });
});

it('has the windows full at the first instant, and tells what goes on from before as that', async () => {
  // 330 to 1010: the first burst fires at 341 by errors from 300 on, which lie before the window.
  const cut = JSON.parse((await run({ from: 330, to: 1010, rule: 'errors', json: true })).out);
  expect(cut.rules).toMatchObject([{ fired: 1, firstAt: iso(timeOf(341)) }]);
  const during = JSON.parse((await run({ from: 350, to: 1010, rule: 'errors', json: true })).out);
  expect(during.rules).toMatchObject([{ fired: 0, firingAtStart: 1, firingAtEnd: 0 }]);
});

it('prints it for people', async () => {
  const { out } = await run({ rule: 'errors' });
  expect(out).toMatch(
    /^From \S+ to \S+ \(30 min\):\n\nerrors would have fired 2 times, first at \S+, last at \S+\.\n {2}longest: \d+ min( \d+ s)? from \S+ on, shop\n {2}by day: /,
  );
  expect(out).toMatch(/\n {2}by group: shop 2\n/);
  expect(out).toMatch(/\n3600 records read \(2400 from the lake, 1200 from Kafka\), from \S+ on, so that the first windows are full\.\n$/);
  expect((await run({ rule: 'silence' })).out).toMatch(/\nsilence would not have fired\.\n/);
});

it('names what nobody has any more, and tests upon the rest', async () => {
  // The topic's last hundred archived offsets are gone from Kafka, and those behind the lake's end, too.
  await deleteRecordsBefore(settings, { topic, partition: 1 }, 1300);
  const lost = { kind: 'lost', first: ARCHIVED, next: 1300, attempt: randomUUID() } as const;
  await ledger.claim({ topic, incarnation, partition: 1 }, lost);
  const { code, out } = await run({ rule: 'errors', json: true });
  expect(code).toBe(0);
  const result = JSON.parse(out);
  expect(result.unreadable).toEqual([{ topic, incarnation, partition: 1, kind: 'lost', from: ARCHIVED, to: 1300 }]);
  expect(result.rules).toMatchObject([{ fired: 2 }]);
  expect((await run({ rule: 'errors' })).out).toMatch(
    /\nNot read: offsets 1200 to 1299 of backtest-\S+, partition 1, which were lost before they were archived\.\n$/,
  );
});

it.each([
  ['a rule that is not there', { rule: 'error' }, /^There is no rule error in \S+: it has errors, silence\.$/],
  [
    'a window that ends before anything is left',
    { from: -90_000, to: -80_000 },
    /^The window ends at \S+ .*, before the oldest record that is left/,
  ],
  ['a window that is upside down', { from: 10, to: 5 }, /^--from must be earlier than --to/],
  ['a rules file that is not there', { rules: '/nowhere/rules.yaml' }, /^\/nowhere\/rules\.yaml can not be read/],
])('refuses %s in one sentence', async (_, flags, sentence) => {
  await expect(run(flags)).rejects.toMatchObject({ lines: [expect.stringMatching(sentence)] });
});
