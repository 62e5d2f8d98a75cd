import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { topicsFor } from '@tailrace/events';
import { connectAdmin, planTopics } from '@tailrace/kafka-kit';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { killServices, runService } from '../testing/service-process.ts';

const kafka = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'watch-test',
  securityProtocol: 'plaintext',
} as const;
const RULES = `rules:
  - name: never
    summary: never
    where: status_code = 599
    measure: count
    window: 1m
    condition: "> 1000000"
    severity: info
    response: { do: Nothing., do_not: Nothing. }
`;

interface Told {
  readonly rule: string;
  readonly status: string;
  readonly summary: string;
  readonly evidence: { readonly missing: readonly string[] };
}

let folder = '';
const told: Told[] = [];
const beats: number[] = [];
/** Whoever is on call, and the watchdog outside. */
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url === '/beat') beats.push(Date.now());
    else told.push(JSON.parse(Buffer.concat(chunks).toString()) as Told);
    response.writeHead(204).end();
  });
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tailrace-watch-'));
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const admin = await connectAdmin(kafka);
  const specs = topicsFor('local').filter(({ state }) => state === 'active');
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
  await admin.close();
});
afterEach(() => killServices());
afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await rm(folder, { recursive: true });
});

test('canaries come round over every partition, and the heartbeat beats; a gateway that is gone is an alert, ends the heartbeat, and both come back', {
  timeout: 240_000,
}, async () => {
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  writeFileSync(join(folder, 'rules.yaml'), RULES);
  writeFileSync(
    join(folder, 'notifiers.yaml'),
    `notifiers:\n  - name: oncall\n    kind: webhook\n    url: ${url}/told\n    allow_private: true\n`,
  );
  const gateway = runService('ingest-gateway', { GATEWAY_PORT: '0' });
  const gatewayUrl = await gateway.url('gateway');
  const processor = runService('alert-processor', {
    ALERT_RULES: join(folder, 'rules.yaml'),
    ALERT_NOTIFIERS: join(folder, 'notifiers.yaml'),
    ALERT_CANARY_URL: gatewayUrl,
    ALERT_CANARY_MS: '1000',
    ALERT_HEARTBEAT_URL: `${url}/beat`,
  });
  await processor.url('health');
  await vi.waitFor(
    async () =>
      expect((await processor.metrics()).match(/^tailrace_alert_canary_age_seconds\{partition="\d+"\} [\d.]+$/gm)).toHaveLength(12),
    { timeout: 60_000, interval: 200 },
  );
  await vi.waitFor(() => expect(beats.length).toBeGreaterThan(0), { timeout: 30_000, interval: 100 });
  const figures = await processor.metrics();
  expect(Number(/^tailrace_alert_canary_round_trip_seconds_count (\d+)$/m.exec(figures)?.[1])).toBeGreaterThanOrEqual(12);
  const behind = [...figures.matchAll(/^tailrace_alert_counted_behind_seconds\{partition="\d+"\} (\S+)$/gm)].map(([, value]) =>
    Number(value),
  );
  expect(behind).toHaveLength(12);
  expect(Math.max(...behind)).toBeLessThan(10);

  await gateway.kill();
  await vi.waitFor(() => expect(told.map(({ rule, status }) => `${rule} ${status}`)).toEqual(['tailrace.gateway firing']), {
    timeout: 60_000,
    interval: 200,
  });
  expect(told[0]?.summary).toMatch(/^The gateway has not taken all canaries for \d+ s: no answer \(.*ECONNREFUSED/);
  await vi.waitFor(async () => expect(await processor.metrics()).toMatch(/^tailrace_alert_heartbeats_total\{outcome="withheld"\} [1-9]/m), {
    timeout: 30_000,
    interval: 200,
  });
  const silentFrom = beats.length;
  runService('ingest-gateway', { GATEWAY_PORT: new URL(gatewayUrl).port });
  await vi.waitFor(() => expect(told.map(({ status }) => status)).toEqual(['firing', 'resolved']), { timeout: 60_000, interval: 200 });
  await vi.waitFor(() => expect(beats.length).toBeGreaterThan(silentFrom), { timeout: 60_000, interval: 200 });
});
