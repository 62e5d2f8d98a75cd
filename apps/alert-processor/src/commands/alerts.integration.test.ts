import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterAdmin, connectAdmin, connectPublisher, type KafkaSettings, type Publisher } from '@tailrace/kafka-kit';
import { createLogger } from '@tailrace/service';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { Command } from 'commander';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { AlertState, StateRecord } from '../decide/alert-state.ts';
import { type Decide, openDecide } from '../decide/open-decide.ts';
import { encodeState, stateKey } from '../decide/state-codec.ts';
import { Deliveries } from '../notify/deliveries.ts';
import { AT_MS } from '../notify/testing/notifications.ts';
import { alertState, sendTo, transitionOf } from '../testing/alert-states.ts';
import { ruleSet } from '../testing/plain-rules.ts';
import { makeTopics } from '../testing/rig-cluster.ts';
import { addAlertsVerbs } from './alerts-program.ts';

const settings: KafkaSettings = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'alerts-test',
  securityProtocol: 'plaintext',
};
const name = `alerts-${randomUUID()}`;
const topics = { group: `${name}.decide`, partials: `${name}.partials`, state: `${name}.state` };
const events = `${name}.events`;
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
  const own = [topics.partials, topics.state, events].map((topic) => ({
    name: topic,
    key: 'none' as const,
    partitions: PARTITIONS,
    replicationFactor: 1,
    configs,
  }));
  await makeTopics(admin, own);
  publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: 1_000_000, log: () => {} });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await publisher.close(5000);
  await admin.deleteTopics([topics.partials, topics.state, events]);
  await admin.close();
});

async function write(partition: number, records: readonly StateRecord[]): Promise<void> {
  const outgoing = records.map((record) => ({
    topic: topics.state,
    partition,
    key: Buffer.from(stateKey(record)),
    value: encodeState(record),
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

const firing = alertState({
  epoch: 7,
  transitions: [
    transitionOf({
      sends: [
        sendTo('oncall', 'sent', { lastAttemptMs: AT_MS }),
        sendTo('pager', 'pending', { attempts: 3, lastAttemptMs: AT_MS + 9000, reason: 'answered 503' }),
      ],
    }),
  ],
});

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
  shop answers with errors: count 153 > 100 in 1 min; since 2026-01-01T00:00:00.000Z (4 min), in the window from 2025-12-31T23:59:00.000Z
  firing: oncall was told; pager waits (at least 3 tries)
pager: 1 waits, the oldest since 2026-01-01T00:00:00.000Z, because: answered 503
1 firing, 1 not delivered yet.
Decided up to 2026-01-01T00:00:00.000Z.
`,
  });
  expect((await alerts('ls', '--all')).out).toContain('ok  slow  1=a, 2=b\n');
  expect(await alerts('ls', '--rule', 'slow')).toMatchObject({
    code: 0,
    out: expect.stringContaining('No alert of slow is firing, and everybody was told of it.'),
  });
  await expect(alerts('ls', '--rule', 'slwo')).rejects.toThrow('There is no rule slwo (did you mean slow?)');
  const { alerts: listed, ...counts } = JSON.parse((await alerts('ls', '--json')).out);
  expect(counts).toEqual({ firing: 1, undelivered: 1, waiting: 1, decided_up_to: '2026-01-01T00:00:00.000Z', unreadable: 0 });
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
  await expect(alerts('show', 'errors-by-service', 'service=nix')).rejects.toThrow(
    "errors-by-service has no alert of service=nix: it has service=shop 'region=(none)';",
  );
  await expect(alerts('show', 'none')).rejects.toThrow('these have fired: errors-by-service, slow');
});

/** The deciding stage itself. */
function decide(): Promise<Decide> {
  return openDecide({
    kafka: settings,
    group: name,
    topics: [events],
    partialsTopic: topics.partials,
    stateTopic: topics.state,
    rules: { current: ruleSet([]), onChange: () => {} },
    deliveries: new Deliveries([], () => {}),
    reports: () => {},
    tickMs: 50,
    stopMs: 5000,
    maxPollIntervalMs: 60_000,
    nowMs: () => NOW_MS,
    log: createLogger({ name, level: 'silent' }),
    signal: new AbortController().signal,
    observe: () => {},
  });
}

const wanted = ['--rule', 'slow', '--group', 'region=eu', '--group', 'service=shop', '--for', '2h', '--comment', 'planned work'];

it('a silence is written when nobody runs, and says so; it is taken by every partition when a processor does, and taken back', async () => {
  const never = await alerts('silence', ...wanted);
  expect(never.out).toMatch(
    /^s-[0-9a-f]{8} {2}slow service=shop, region=eu {2}until 2026-01-01T02:04:00\.000Z \(2 h left\) {2}planned work\n/,
  );
  expect(never.out).toContain('It matches 0 of 1 alerts that fire now.\n');
  expect(never.out).toContain('no alert-processor has ever run here');
  const first = await decide();
  const stands = async () => (await admin.groupLag(topics.group, [topics.partials])).map(({ committed }) => committed !== null);
  await vi.waitFor(async () => expect(await stands()).toEqual([true, true]), { timeout: 30_000, interval: 200 });
  await first.close(10_000);

  const { out } = await alerts('silence', ...wanted);
  expect(out).toContain('No alert-processor runs: it holds before the next one decides anything');
  const [id = ''] = out.split(' ');
  await expect(alerts('unsilence', id)).rejects.toThrow(`No processor holds a silence ${id}`);

  const running = await decide();
  try {
    const told = JSON.parse((await alerts('silence', '--until', '2026-01-01T03:00:00Z', '--comment', 'all of it', '--json')).out);
    expect(told).toMatchObject({
      taken: PARTITIONS,
      partitions: PARTITIONS,
      silence: { rule: null, group: null, until: '2026-01-01T03:00:00.000Z' },
    });
    const [, ...before] = never.out.split(' ');
    expect((await alerts('silences')).out.split('\n')).toEqual([
      expect.stringMatching(/^file-\S+ {2}every rule {2}until 2026-01-01T02:00:00.000Z \(1 h left\) {2}planned work$/),
      `${never.out.split(' ')[0]} ${before.join(' ').split('\n')[0]}`,
      out.split('\n')[0],
      `${told.silence.id}  every rule  until 2026-01-01T03:00:00.000Z (2 h left)  all of it`,
      '',
    ]);
    expect(await alerts('unsilence', id)).toEqual({ code: 0, out: `Silence ${id} is taken back.\nEvery partition holds it.\n` });
    expect((await alerts('silences')).out).not.toContain(id);
    expect((await alerts('silences', '--all')).out).toContain(`${id}  slow service=shop, region=eu  taken back`);
    // A second time nothing would come to wait for.
    const again = performance.now();
    expect(await alerts('unsilence', id)).toEqual({
      code: 0,
      out: `Silence ${id} was taken back already: nothing is left to take back.\n`,
    });
    expect(performance.now() - again).toBeLessThan(5000);
  } finally {
    await running.close(10_000);
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
