import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { SERVICE_EVENTS_TOPIC, topicsFor } from '@tailrace/events';
import { planTopics } from '@tailrace/kafka-kit';
import { pageNames, scrapedNames } from '@tailrace/kafka-kit/testing';
import { readListening } from '@tailrace/service';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { AnswerBody } from './answers.ts';
import { event } from './testing/gateway.ts';
import { endsOf, readTopic, testCluster, withAdmin } from './testing/kafka.ts';

const settings = testCluster();
const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const children: ChildProcess[] = [];

beforeAll(async () => {
  const topics = topicsFor('local').filter(({ name }) => name === SERVICE_EVENTS_TOPIC);
  await withAdmin(settings, async (admin) => admin.apply(planTopics(topics, await admin.readTopics([SERVICE_EVENTS_TOPIC]))));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** The gateway as a process of its own. */
function run(environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, ['--conditions=tailrace-src', '--import', 'tsx', main], {
    env: {
      PATH: '/usr/bin:/bin',
      KAFKA_BOOTSTRAP_SERVERS: settings.bootstrapServers,
      GATEWAY_PORT: '0',
      TAILRACE_TOPIC_PROFILE: 'local',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const listening = (server: string) => lines.map(readListening).find((found) => found?.server === server)?.url;
  return {
    child,
    lines,
    stderr: () => child.stderr,
    /** The address of one of its servers, once it said so. */
    async url(server: string): Promise<string> {
      while (listening(server) === undefined) await once(output, 'line');
      return listening(server) ?? '';
    },
    async said(word: string): Promise<void> {
      while (!lines.some((line) => line.includes(word))) await once(output, 'line');
    },
    async exit(): Promise<number> {
      const [code] = await once(child, 'close');
      return code;
    },
  };
}

test('the process takes posts, says that it is ready, and stops in order on SIGTERM', async () => {
  const gateway = run({});
  await gateway.said('"msg":"ready"');
  const url = await gateway.url('gateway');
  const before = await endsOf(settings, SERVICE_EVENTS_TOPIC);
  const mark = `main-${process.pid}-${Date.now()}`;
  const lines = Array.from({ length: 50 }, (_, n) => event({ customer_id: `c${n % 5}`, mark, n }));
  const answered = await fetch(`${url}/v1/events`, { method: 'POST', body: lines.join('\n') });
  expect([answered.status, await answered.json()]).toEqual([200, { accepted: 50 }]);
  for (const base of [url, await gateway.url('health')]) expect((await fetch(`${base}/readyz`)).status).toBe(200);
  // What is registered is on the page, and the page names nothing else.
  const page = readFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8');
  expect(scrapedNames(await (await fetch(`${url}/metrics`)).text())).toEqual(pageNames(page, 'ingest-gateway'));
  gateway.child.kill('SIGTERM');
  expect(await gateway.exit()).toBe(0);
  const values = (await readTopic(settings, SERVICE_EVENTS_TOPIC, before)).map(({ value }) => value?.toString() ?? '');
  expect(values.filter((value) => value.includes(mark)).toSorted()).toEqual(lines.toSorted());
});

test('every post that was answered with success before a kill -9 is in Kafka', async () => {
  const gateway = run({});
  await gateway.said('"msg":"ready"');
  const url = await gateway.url('gateway');
  const before = await endsOf(settings, SERVICE_EVENTS_TOPIC);
  const mark = `kill-${process.pid}-${Date.now()}`;
  const accepted: string[] = [];
  const poster = async (customer: number) => {
    for (let n = 0; ; n++) {
      const line = event({ customer_id: `c${customer}`, mark, n });
      const answered = await fetch(`${url}/v1/events`, { method: 'POST', body: line }).catch(() => undefined); // Killed: no answer.
      if (answered?.status !== 200) return;
      accepted.push(line);
    }
  };
  const posters = Array.from({ length: 8 }, (_, customer) => poster(customer));
  await vi.waitFor(() => expect(accepted.length).toBeGreaterThan(500), { timeout: 30_000 });
  gateway.child.kill('SIGKILL');
  await Promise.all(posters);
  const kept = new Set((await readTopic(settings, SERVICE_EVENTS_TOPIC, before)).map(({ value }) => value?.toString() ?? ''));
  expect(accepted.filter((line) => !kept.has(line))).toEqual([]);
});

test('a gateway that can not reach Kafka answers 503 with Retry-After at once, is not ready, and stops cleanly', async () => {
  const gateway = run({ KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1' });
  const url = await gateway.url('gateway');
  const answered = await fetch(`${url}/v1/events`, { method: 'POST', body: event() });
  expect(answered.status).toBe(503);
  expect(Number(answered.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(((await answered.json()) as AnswerBody).error).toBe('kafka_unavailable');
  const readiness = await fetch(`${url}/readyz`);
  expect(readiness.status).toBe(503);
  const checks = await readiness.text();
  expect(checks).toMatch(/Kafka at [^ ]+ was not reached yet/);
  expect(checks).toContain('"name":"posts","state":"not-ready","sentence":"The last posts were answered with 503: ');
  await gateway.said('posts are answered with 503 (kafka_unavailable, 1 so far): ');
  gateway.child.kill('SIGTERM');
  expect(await gateway.exit()).toBe(0);
});

test.each(['refuses', 'is silent'])('a stop during the first connect to a Kafka that %s takes no longer than 2 s', async (how) => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const port = how === 'refuses' ? 1 : (silent.address() as AddressInfo).port;
  const connected = once(silent, 'connection');
  const gateway = run({ KAFKA_BOOTSTRAP_SERVERS: `127.0.0.1:${port}` });
  if (how === 'is silent') await connected;
  await gateway.url('gateway');
  const begunMs = performance.now();
  gateway.child.kill('SIGTERM');
  expect(await gateway.exit()).toBe(0);
  expect(performance.now() - begunMs).toBeLessThan(2_000);
  expect(gateway.lines.filter((line) => 'err' in JSON.parse(line))).toEqual([]);
  silent.close();
});

test('topics that are not as declared stop the gateway with one sentence that names the command', async () => {
  const gateway = run({ TAILRACE_TOPIC_PROFILE: 'cluster' });
  expect(await gateway.exit()).toBe(1);
  const fatal = gateway.lines.map((line) => JSON.parse(line)).find(({ level }) => level === 'fatal');
  expect(fatal?.msg).toMatch(/service-events has 1 replicas? and is declared with 3.*npx tailrace topics apply/);
});

test('a port that is taken ends the gateway with one sentence, which no line calls less than an error', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const gateway = run({ GATEWAY_PORT: String((taken.address() as AddressInfo).port) });
  expect(await gateway.exit()).toBe(1);
  const told = gateway.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes('the port is taken by another process'));
  expect(told.map(({ level }) => level)).toEqual(['fatal', 'error']);
  taken.close();
});

test('wrong settings are told all at once, with exit code 2', async () => {
  const gateway = run({ GATEWAY_PORT: 'x', GATEWAY_MAX_BODY_BYTES: '1', KAFKA_BOOTSTRAP_SERVERS: '' });
  let told = '';
  gateway.stderr().on('data', (chunk) => {
    told += chunk;
  });
  expect(await gateway.exit()).toBe(2);
  expect(told.match(/^(KAFKA_BOOTSTRAP_SERVERS|GATEWAY_PORT|GATEWAY_MAX_BODY_BYTES) is not /gm)).toHaveLength(3);
});
