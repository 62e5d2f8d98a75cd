import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ClusterAdmin,
  connectAdmin,
  connectPublisher,
  createConsumerRuntime,
  createNativeConsumer,
  type KafkaSettings,
  type Publisher,
  STORED,
  systemClock,
} from '@tailrace/kafka-kit';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { Command } from 'commander';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AlertState, StateRecord } from '../decide/alert-state.ts';
import { Silences } from '../decide/silences.ts';
import { stateKey } from '../decide/state-codec.ts';
import { decodeMessage } from '../messages/codec.ts';
import { AT_MS, notification } from '../notify/testing/notifications.ts';
import { addAlertsVerbs } from './alerts-program.ts';

const settings: KafkaSettings = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'alerts-test',
  securityProtocol: 'plaintext',
};
const name = `alerts-${randomUUID()}`;
const topics = { group: `${name}.decide`, partials: `${name}.partials`, state: `${name}.state` };
const PARTITIONS = 2;
const NOW_MS = AT_MS + 240_000;
const folder = mkdtempSync(join(tmpdir(), 'tailrace-alerts-'));
const rulesFile = join(folder, 'rules.yaml');
let admin: ClusterAdmin;
let publisher: Publisher;

beforeAll(async () => {
  writeFileSync(
    rulesFile,
    `rules:
- {name: slow, summary: s, group_by: [service, region], measure: count, window: 1m, condition: "> 1", response: {do: d, do_not: n}}
silences:
- {from: 2026-01-01T00:00:00Z, until: 2026-01-01T02:00:00Z, comment: planned work}
`,
  );
  admin = await connectAdmin(settings);
  const configs = { 'message.timestamp.type': 'LogAppendTime' };
  for (const topic of [topics.partials, topics.state])
    await admin.apply([
      { kind: 'create', topic, spec: { name: topic, key: 'none', partitions: PARTITIONS, replicationFactor: 1, configs } },
    ]);
  publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: 1_000_000, log: () => {} });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await publisher.close(5000);
  await admin.deleteTopics([topics.partials, topics.state]);
  await admin.close();
});

async function write(partition: number, records: readonly StateRecord[]): Promise<void> {
  const outgoing = records.map((record) => ({
    topic: topics.state,
    partition,
    key: Buffer.from(stateKey(record)),
    value: Buffer.from(JSON.stringify(record)),
  }));
  const fates = await publisher.publish(outgoing, { deadlineMs: 10_000 });
  expect(fates.every(({ kind }) => kind === 'acknowledged')).toBe(true);
}

interface Run {
  readonly code: number;
  readonly out: string;
}

/** One command line, as `tailrace alerts …`. */
async function alerts(...argv: readonly string[]): Promise<Run> {
  let out = '';
  let code = -1;
  const program = new Command().exitOverride();
  const ports = {
    out: (text: string) => {
      out += text;
    },
    note: () => {},
    nowMs: () => NOW_MS,
    environment: { KAFKA_BOOTSTRAP_SERVERS: settings.bootstrapServers, ALERT_RULES: rulesFile },
    signal: new AbortController().signal,
  };
  const act = async (work: () => Promise<number>, check?: () => void): Promise<void> => {
    check?.();
    code = await work();
  };
  addAlertsVerbs(program, { ports, act }, topics);
  await program.parseAsync(argv, { from: 'user' });
  return { code, out };
}

const firing: AlertState = {
  kind: 'alert',
  rule: 'errors-by-service',
  group: '["shop",null]',
  version: 'v',
  state: 'firing',
  episodeMs: AT_MS,
  firstEndMs: AT_MS + 60_000,
  lastFiringMs: AT_MS,
  decidedMs: AT_MS,
  writtenMs: AT_MS,
  epoch: 7,
  transitions: [
    {
      name: 'firing',
      atMs: AT_MS,
      notification: notification(),
      sends: [
        { key: 'k', channel: 'oncall', status: 'sent', attempts: 1, lastAttemptMs: AT_MS },
        { key: 'k', channel: 'pager', status: 'pending', attempts: 3, lastAttemptMs: AT_MS + 9000, reason: 'answered 503' },
      ],
    },
  ],
};

it('nothing was decided yet', async () => {
  expect(await alerts('ls')).toEqual({
    code: 0,
    out: 'No alert is firing, and everybody was told.\nNothing is decided yet: see whether alert-processor runs.\n',
  });
});

it('lists what fires and who was not told, by the record with the highest epoch, and shows one whole', async () => {
  const over: AlertState = { ...firing, rule: 'slow', group: '["a","b"]', state: 'ok', transitions: [] };
  await write(0, [
    firing,
    over,
    { ...firing, epoch: 6, state: 'ok', transitions: [] },
    { kind: 'partition', partition: 0, watermarkMs: AT_MS + 5000, epoch: 7, owner: 'test' },
  ]);
  await write(1, [{ kind: 'partition', partition: 1, watermarkMs: AT_MS, epoch: 3, owner: 'test' }]);
  expect(await alerts('ls')).toEqual({
    code: 1,
    out: `FIRING critical  errors-by-service  service=shop, region=(none)
  shop answers with errors: count 153 > 100 in 1 min; since 2026-01-01T00:00:00.000Z (4 min)
  firing: oncall was told; pager waits (3 tries, answered 503)
1 firing, 1 not delivered.
Decided up to 2026-01-01T00:00:00.000Z.
`,
  });
  expect((await alerts('ls', '--all')).out).toContain('ok  slow  1=a, 2=b\n');
  expect(await alerts('ls', '--rule', 'slow')).toMatchObject({ code: 0, out: expect.stringContaining('No alert is firing') });
  const { alerts: listed, ...counts } = JSON.parse((await alerts('ls', '--json')).out);
  expect(counts).toEqual({ firing: 1, undelivered: 1, decided_up_to: '2026-01-01T00:00:00.000Z', unreadable: 0 });
  expect(listed).toMatchObject([
    {
      rule: 'errors-by-service',
      state: 'firing',
      value: 153,
      transitions: [{ sends: [{ channel: 'oncall' }, { channel: 'pager', reason: 'answered 503' }] }],
    },
  ]);
  for (const words of [['errors-by-service', 'service=shop'], [listed[0].incident], [`${listed[0].incident}/firing`]]) {
    const { out } = await alerts('show', ...words);
    expect(out).toContain('Do not: Do not restart the database.\n');
    expect(out).toContain('Not seen: partition 3 is 60 s behind\n');
    expect(out).toContain('last try through pager: 2026-01-01T00:00:09.000Z\n');
  }
  await expect(alerts('show', 'none')).rejects.toThrow('these have fired: errors-by-service, slow');
});

it('a silence is written when nobody runs, and says so; it is taken by every partition when a processor does, and taken back', async () => {
  const { out } = await alerts(
    'silence',
    '--rule',
    'slow',
    '--group',
    'region=eu',
    '--group',
    'service=shop',
    '--for',
    '2h',
    '--comment',
    'planned work',
  );
  expect(out).toMatch(/^s-[0-9a-f]{8} {2}slow \["shop","eu"\] {2}until 2026-01-01T02:04:00\.000Z \(2 h left\) {2}planned work\n/);
  expect(out).toContain('No alert-processor runs: it holds as soon as one does');
  const [id = ''] = out.split(' ');
  await expect(alerts('unsilence', id)).rejects.toThrow(`No processor holds a silence ${id}`);

  // What the deciding stage does with a silence, in its own words.
  const silences = Array.from({ length: PARTITIONS }, () => new Silences());
  const taker = createConsumerRuntime(
    {
      group: topics.group,
      topics: [topics.partials],
      batch: { maxRecords: 20, maxBytes: 1_000_000, maxAgeMs: 50 },
      inFlightPerLane: 1,
      buffer: { pauseAtBytes: 4_000_000, resumeAtBytes: 2_000_000 },
      backoff: { firstMs: 50, factor: 2, maxMs: 500, jitter: 0 },
      drain: { revokeMs: 2000, stopMs: 5000 },
      start: 'earliest',
      sink: {
        name: 'taker',
        write: async (batch) => {
          const { partition } = batch.source;
          for (let i = 0; i < batch.length; i++) {
            const message = decodeMessage(batch.value(i));
            if (message.kind === 'silence') silences[partition]?.accept(message.silence, 7);
          }
          await write(partition, silences[partition]?.takeChanged() ?? []);
          return Array.from({ length: batch.length }, () => STORED);
        },
      },
    },
    {
      broker: createNativeConsumer(settings, {
        group: topics.group,
        protocol: { kind: 'classic', sessionTimeoutMs: 6000 },
        maxPollIntervalMs: 60_000,
      }),
      clock: systemClock,
      observe: () => {},
    },
  );
  await taker.start();
  try {
    const told = JSON.parse((await alerts('silence', '--until', '2026-01-01T03:00:00Z', '--comment', 'all of it', '--json')).out);
    expect(told).toMatchObject({
      taken: PARTITIONS,
      partitions: PARTITIONS,
      silence: { rule: null, group: null, until: '2026-01-01T03:00:00.000Z' },
    });
    expect((await alerts('silences')).out.split('\n').map((line) => line.replace(/^\S+/, ''))).toEqual([
      '  every rule  until 2026-01-01T02:00:00.000Z (1 h left)  planned work',
      '  slow ["shop","eu"]  until 2026-01-01T02:04:00.000Z (2 h left)  planned work',
      '  every rule  until 2026-01-01T03:00:00.000Z (2 h left)  all of it',
      '',
    ]);
    expect(await alerts('unsilence', id)).toEqual({ code: 0, out: `Silence ${id} is taken back.\nEvery partition holds it.\n` });
    expect((await alerts('silences')).out).not.toContain(id);
    expect((await alerts('silences', '--all')).out).toContain(`${id}  slow ["shop","eu"]  taken back`);
  } finally {
    await taker.stop();
  }
});

it.each([
  [['--rule', 'slow', '--comment', 'x'], 'Say how long'],
  [['--rule', 'slow', '--for', '2 hours', '--comment', 'x'], 'and 2 hours is not'],
  [['--rule', 'slow', '--until', '2025-12-31T00:00:00Z', '--comment', 'x'], 'is over before it begins'],
  [['--for', '60d', '--comment', 'x'], 'at most 30 days'],
  [['--for', '1h', '--comment', ' '], 'Say why'],
  [['--for', '1h', '--group', 'service=a', '--comment', 'x'], 'name it with --rule'],
  [['--for', '1h', '--rule', 'slwo', '--comment', 'x'], 'There is no rule slwo (did you mean slow?)'],
  [
    ['--for', '1h', '--rule', 'slow', '--group', 'service=a', '--comment', 'x'],
    'The rule slow groups by service, region: name exactly these',
  ],
])('a silence that makes no sense is told so: %j', async (words, sentence) => {
  await expect(alerts('silence', ...words)).rejects.toThrow(sentence);
});
