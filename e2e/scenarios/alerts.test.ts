import { TransactionalProducer } from '@tailrace/kafka-kit/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../src/cluster/cluster.ts';
import { scenarioConfig } from '../src/config.ts';
import { AlertTrial, lines, type TrialEvent, type TrialOptions } from '../src/incidents/alert-trial.ts';
import { eventsOf, rulesOf } from '../src/incidents/trial-texts.ts';
import { until } from '../src/machine/until.ts';
import { kafkaSettings, TOPIC } from '../src/pipeline/endpoints.ts';
import { report } from '../src/report.ts';

const HOUR_MS = 3_600_000;
/** Each test begins an hour of its clock behind the one before it. All of it is in the past: partials must be younger than the clock. */
const ORIGIN_MS = Math.floor(Date.now() / HOUR_MS - 8) * HOUR_MS;

describe.skipIf(scenarioConfig.short)('alerts', () => {
  let cluster: Cluster;
  let trial: AlertTrial | undefined;

  beforeAll(async () => {
    cluster = await Cluster.start({ brokers: 1, jit: 'fast-start' });
    // The times of records are the events' own here, so that minutes pass in seconds.
    await cluster.admin.apply([
      { kind: 'set-config', topic: TOPIC, name: 'message.timestamp.type', from: 'LogAppendTime', to: 'CreateTime' },
    ]);
  });
  afterEach(() => trial?.end());
  afterAll(() => cluster?.stop());

  const begin = async (hour: number, options: Pick<TrialOptions, 'rules' | 'channels'>): Promise<AlertTrial> => {
    trial = await AlertTrial.start(cluster, { startMs: ORIGIN_MS + hour * HOUR_MS, report, ...options });
    return trial;
  };

  test('events of 2099 and 1970, a partition that falls silent and one that lags silence no rule, and the alert says what was missing', async () => {
    const { step, told, ...made } = steps(
      await begin(0, {
        rules: rulesOf({
          errors: 'where: status_code >= 500; measure: count; window: 1m; condition: "> 30"',
          ratio: 'measure: {ratio: {of: status_code >= 500}}; window: {tumbling: 1m}; condition: "> 0.15"; min_count: 60',
          sound: 'measure: {ratio: {of: status_code < 500}}; window: 1m; condition: "< 0.5"; min_count: 20',
          quiet: 'where: service in ("shop", "crm"); measure: absence; window: 1m; remember: 1h',
          ancient: 'where: service = "ancient"; measure: count; window: 1m; condition: "> 0"',
        }),
      }),
    );
    const shop = eventsOf('shop', 2);
    const calm = [...shop, ...eventsOf('crm', 2)];
    await step(9, calm);
    await step(1, [...calm, { service: 'ancient', partition: 4, status: 200, timestamp: '1970-01-01T00:00:00Z' }]);
    await step(1, [...calm, { service: 'crm', partition: 3, status: 200, timestamp: '2099-01-01T00:00:00Z' }]);
    expect(made.lines()).toEqual([]);

    // Partition 7 is silent from now on, and another service fails whose events say that it is 2099.
    const but = [7];
    const begunMs = made.nowMs();
    await step(1, [...eventsOf('shop', 2, { but }), ...eventsOf('crm', 4, { but, status: 503, timestamp: '2099-01-01T00:00:00Z' })]);
    const errors = await told('errors', 'crm', 'firing');
    expect(errors.missing).toEqual([]);
    expect(errors.startedMs).toBeGreaterThan(begunMs - 60_000);
    expect(errors.startedMs).toBeLessThanOrEqual(begunMs);
    // Now it is silent as well.
    await step(14, eventsOf('shop', 2, { but }));
    expect((await told('quiet', 'crm', 'firing')).missing).toEqual([]);
    await told('errors', 'crm', 'resolved');
    await told('ratio', 'crm', 'firing');
    await told('ratio', 'crm', 'resolved');

    // Somebody's transaction keeps back what comes behind it in partition 9.
    const transaction = await TransactionalProducer.connect(kafkaSettings(cluster.endpoints));
    let held = 0;
    try {
      await transaction.begin();
      await transaction.write(TOPIC, 9, ['{"service":"never committed"}']);
      await made.stepOn(6, shop);
      await made.stepOn(1, eventsOf('shop', 4, { status: 503 }));
      const behind = await told('errors', 'shop', 'firing');
      held = await endOf(cluster, 9);
      expect(behind.missing).toEqual([expect.stringMatching(/^Partition 9 of service-events: behind, counted up to 20/)]);
    } finally {
      await transaction.end('abort');
      await transaction.close();
    }
    await aborted(cluster, 9, held);
    await step(15, calm);
    await told('errors', 'shop', 'resolved');
    await told('quiet', 'crm', 'resolved');
    expect(made.lines().sort()).toEqual(
      ['errors crm', 'errors shop', 'quiet crm', 'ratio crm', 'ratio shop', 'sound crm'].flatMap((each) => [
        `${each}: firing`,
        `${each}: resolved`,
      ]),
    );
  });
});

async function endOf({ admin }: Cluster, partition: number): Promise<number> {
  return [...(await admin.logEnds([{ topic: TOPIC, partition }])).values()][0] ?? 0;
}

/** The broker writes the marker of an abort behind its answer; at the log's very end it would hold back time until the next record. */
async function aborted(cluster: Cluster, partition: number, end: number): Promise<void> {
  await until('the marker of the aborted transaction', 20_000, async () => (await endOf(cluster, partition)) > end);
}

/** Many steps of a trial at once. */
function steps(trial: AlertTrial) {
  return {
    step: async (count: number, events: readonly TrialEvent[]) => {
      for (let i = 0; i < count; i++) await trial.step(events);
    },
    stepOn: async (count: number, events: readonly TrialEvent[]) => {
      for (let i = 0; i < count; i++) await trial.stepOn(events);
    },
    told: trial.told.bind(trial),
    lines: () => lines(trial.receiver()),
    nowMs: () => trial.nowMs,
  };
}
