import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALERT_PARTIALS_TOPIC, SERVICE_EVENTS_TOPIC, topicsFor } from '@tailrace/events';
import {
  type ClusterAdmin,
  connectAdmin,
  connectPublisher,
  type KafkaSettings,
  type Publisher,
  planTopics,
  readRanges,
} from '@tailrace/kafka-kit';
import { pageNames, scrapedNames } from '@tailrace/kafka-kit/testing';
import { killFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { decodeMessage } from './messages/codec.ts';
import { runAlerts } from './testing/alert-process.ts';

const settings: KafkaSettings = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'alerts-test',
  securityProtocol: 'plaintext',
};
const folder = mkdtempSync(join(tmpdir(), 'tailrace-alerts-'));
const rulesFile = join(folder, 'rules.yaml');
const METRICS_PAGE = readFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8');
const WAIT = { timeout: 60_000, interval: 200 };
let admin: ClusterAdmin;
let publisher: Publisher;

const rule = (name: string, window: string): string => `
  - name: ${name}
    summary: "{service} answers with errors"
    where: status_code >= 500
    group_by: [service]
    measure: count
    window: ${window}
    condition: "> 100000"
    severity: error
    response: {do: "Look.", do_not: "Wait."}
`;

beforeAll(async () => {
  admin = await connectAdmin(settings);
  const specs = topicsFor('local').filter(({ state }) => state === 'active');
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
  publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: 10_000_000, log: () => {} });
});
afterEach(() => killFromSources());
afterAll(async () => {
  await publisher.close(5000);
  await admin.close();
  rmSync(folder, { recursive: true });
});

/** One event with an error, of a service of its own. */
async function post(service: string): Promise<void> {
  const value = Buffer.from(JSON.stringify({ timestamp: new Date().toISOString(), service, status_code: 500 }));
  const [fate] = await publisher.publish([{ topic: SERVICE_EVENTS_TOPIC, key: null, value }], { deadlineMs: 20_000 });
  expect(fate?.kind).toBe('acknowledged');
}

/** The rules that have a cell about a service. */
async function countedBy(service: string): Promise<ReadonlySet<string>> {
  const lag = await admin.groupLag('alerts-test.reader', [ALERT_PARTIALS_TOPIC]);
  const ranges = lag.map(({ topic, partition, logStart, logEnd }) => ({ topic, partition, from: logStart, to: logEnd }));
  const rules = new Set<string>();
  for await (const records of readRanges(settings, ranges))
    for (const { value } of records) {
      const message = decodeMessage(value);
      if (message.kind !== 'cells') continue;
      for (const cell of message.cells) if (cell.group === JSON.stringify([service])) rules.add(cell.rule.name);
    }
  return rules;
}

test('it counts the rules of its file, takes a change over, says how it is, and stops with nothing left to count', {
  timeout: 180_000,
}, async () => {
  writeFileSync(rulesFile, `rules:${rule('errors', '1m')}`);
  const alerts = runAlerts({ ALERT_RULES: rulesFile, ALERT_STAGES: 'panes', ALERT_PANE_MS: '1000' });
  await alerts.said('"msg":"ready"');
  const ready = async (): Promise<string> => await (await fetch(`${alerts.url()}/readyz`)).text();
  await vi.waitFor(async () => expect(await ready()).toContain('What came before the start was counted within'), WAIT);
  const service = `service-${process.pid}-${Date.now()}`;
  await post(service);
  await vi.waitFor(async () => expect([...(await countedBy(service))]).toEqual(['errors']), WAIT);
  writeFileSync(rulesFile, `rules:${rule('errors', '1m')}${rule('more-errors', '2m')}`);
  await alerts.said('2 rules hold from now on');
  await vi.waitFor(async () => {
    await post(service);
    expect([...(await countedBy(service))].sort()).toEqual(['errors', 'more-errors']);
  }, WAIT);
  writeFileSync(rulesFile, `rules:${rule('errors', '1m').replace('severity: error', 'severity: eror')}`);
  await alerts.said('the rules are refused, and those of before go on');
  expect(await ready()).toMatch(/degraded.*rules\.yaml:9:15: This must be one of info, warning, error, critical \(did you mean error\?\)/s);
  const metrics = await (await fetch(`${alerts.url()}/metrics`)).text();
  expect(metrics).toContain('tailrace_alert_rules 2');
  expect(metrics).toContain('tailrace_alert_rules_refused 1');
  expect(metrics).toContain('tailrace_alert_warming_up 0');
  const told = new Set(pageNames(METRICS_PAGE, 'Every service that reads from Kafka', 'alert-processor'));
  expect(scrapedNames(metrics).filter((each) => !told.has(each))).toEqual([]);
  alerts.kill('SIGTERM');
  expect(await alerts.exit()).toBe(0);
  const left = await admin.groupLag('alert-processor', [SERVICE_EVENTS_TOPIC]);
  expect(left.every(({ lag, committed }) => lag === 0 && committed !== null)).toBe(true);
});

test('a rule that looks further back than the topic keeps its records is refused by name, with exit code 2', async () => {
  writeFileSync(rulesFile, `rules:${rule('errors', '1m')}${rule('long', '1d')}`);
  const alerts = runAlerts({ ALERT_RULES: rulesFile });
  expect(await alerts.exit()).toBe(2);
  expect(alerts.lines.join('\n')).toMatch(/Rule long looks back 86400000 ms/);
});
