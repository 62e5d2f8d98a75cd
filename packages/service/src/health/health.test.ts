// biome-ignore lint/style/noRestrictedImports: any metric does for a test of what serves them.
import { Counter, Gauge } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { type Check, Health } from './health.ts';
import { createMetrics } from './metrics.ts';
import { createProbes } from './probes.ts';
import { type HealthServer, startHealthServer } from './server.ts';

const ok: Check = { state: 'ok', sentence: 'fine' };
const degraded: Check = { state: 'degraded', sentence: 'lane 3 is halted' };
const notReady: Check = { state: 'not-ready', sentence: 'Kafka does not answer' };
const servers: HealthServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function serve(health = new Health(), metrics = createMetrics()): Promise<string> {
  const server = await startHealthServer(createProbes(health, metrics), { host: '127.0.0.1', port: 0 });
  servers.push(server);
  return server.url;
}

test.each([
  [[], 'ok', 200],
  [[ok, ok], 'ok', 200],
  [[ok, degraded], 'degraded', 200],
  [[degraded, notReady, ok], 'not-ready', 503],
])('the gravest of %j counts: %s, %i', async (checks, state, status) => {
  const health = new Health();
  for (const [i, check] of checks.entries()) health.set(`check ${i}`, () => check);
  const answer = await fetch(`${await serve(health)}/readyz`);
  expect(answer.status).toBe(status);
  expect(await answer.json()).toEqual({ state, checks: checks.map((check, i) => ({ name: `check ${i}`, ...check })) });
});

test('a check that throws is not ready and says why', async () => {
  const health = new Health();
  health.set('broken', () => {
    throw new Error('no state');
  });
  expect(health.report()).toEqual({
    state: 'not-ready',
    checks: [{ name: 'broken', state: 'not-ready', sentence: 'The check itself failed: no state' }],
  });
});

test('a process that is not ready still lives', async () => {
  const health = new Health();
  health.set('kafka', () => notReady);
  expect((await fetch(`${await serve(health)}/livez`)).status).toBe(200);
});

test('metrics are Prometheus text, with Node’s own, and two registries do not meet', async () => {
  const metrics = createMetrics();
  new Counter({ name: 'tailrace_test_total', help: 'Test.', registers: [metrics] }).inc(3);
  const answer = await fetch(`${await serve(new Health(), metrics)}/metrics`);
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
  const body = await answer.text();
  expect(body).toContain('tailrace_test_total 3');
  expect(body).toContain('nodejs_eventloop_lag_seconds');
  expect(await createMetrics().metrics()).not.toContain('tailrace_test_total');
});

test('a metric that can not be read is an answer, not a request without one', async () => {
  const metrics = createMetrics();
  new Gauge({
    name: 'tailrace_broken',
    help: 'Test.',
    registers: [metrics],
    collect() {
      throw new Error('no figure');
    },
  });
  const answer = await fetch(`${await serve(new Health(), metrics)}/metrics`);
  expect([answer.status, await answer.text()]).toEqual([500, 'This could not be read: no figure\n']);
});

test('other paths, other methods, HEAD and a query', async () => {
  const url = await serve();
  expect((await fetch(`${url}/`)).status).toBe(404);
  expect((await fetch(`${url}/livez`, { method: 'POST', body: 'x' })).status).toBe(405);
  const head = await fetch(`${url}/livez?verbose`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});
