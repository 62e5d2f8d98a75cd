import { TransactionalProducer } from '@tailrace/kafka-kit/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../src/cluster/cluster.ts';
import { scenarioConfig } from '../src/config.ts';
import { AlertTrial, type TrialEvent, type TrialOptions } from '../src/incidents/alert-trial.ts';
import { briefIncidents } from '../src/incidents/plan.ts';
import { pushIncidents } from '../src/incidents/push.ts';
import { lines } from '../src/incidents/receiver.ts';
import { eventsOf, rulesOf } from '../src/incidents/trial-texts.ts';
import { judge, tellings } from '../src/incidents/verdict.ts';
import { until } from '../src/machine/until.ts';
import { kafkaSettings, TOPIC } from '../src/pipeline/endpoints.ts';
import { report } from '../src/report.ts';

const HOUR_MS = 3_600_000;
/** Each test begins an hour of its clock behind the one before it. All of it is in the past: partials must be younger than the clock. */
const ORIGIN_MS = Math.floor(Date.now() / HOUR_MS - 8) * HOUR_MS;
/** A notification is on its way a moment after the tick that decided it. */
const AT_ONCE_MS = 3000;
/** The longest pause between two tries is 30 s. */
const RETRIED_MS = 60_000;

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
    expect(await made.figure('tailrace_alert_late_events_total')).toBe(1);

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

  test('receivers that are away, slow, failing, busy, silent or talk garbage for five minutes keep nothing back from the sound one and lose nothing', async () => {
    const ill = ['away', 'slow', 'failing', 'busy', 'silent', 'garbage', 'hanging-up'] as const;
    const { step, told, receiver } = steps(
      await begin(1, {
        channels: ['sound', ...ill],
        rules: rulesOf({ failing: 'where: status_code >= 500; measure: count; window: 1m; condition: "> 30"' }),
      }),
    );
    const begunMs = performance.now();
    await receiver('away').goAway();
    receiver('slow').manner = { afterMs: 4000 };
    receiver('failing').manner = { status: 500 };
    receiver('busy').manner = { status: 429 };
    for (const manner of ['silent', 'garbage'] as const) receiver(manner).manner = manner;
    receiver('hanging-up').manner = 'hangs-up';
    const services = ['one', 'two', 'three', 'four', 'five'];
    const lateness: number[] = [];
    // Five minutes by the clock, in each of which another one fails; and so long by the one on the wall.
    for (const service of services) {
      await step(1, eventsOf(service, 3, { status: 503 }));
      const decidedMs = performance.now();
      await told('failing', service, 'firing', 'sound');
      lateness.push(performance.now() - decidedMs);
      await step(5, []);
    }
    expect(Math.max(...lateness)).toBeLessThan(AT_ONCE_MS);
    await until('the end of the outage', scenarioConfig.heldMs + 1000, () => performance.now() - begunMs > scenarioConfig.heldMs);
    for (const name of ill) if (name !== 'slow') expect(lines(receiver(name)), name).toEqual([]);
    await receiver('away').comeBack();
    for (const name of ill) receiver(name).manner = 'well';
    await step(13, []);
    for (const service of services) await told('failing', service, 'resolved', 'sound');
    for (const name of ill) {
      const { told: came, tries, accepted, changed } = receiver(name);
      await until(`everything told to ${name}`, RETRIED_MS, () => came.size === receiver('sound').told.size);
      expect([...came.keys()].sort(), name).toEqual([...receiver('sound').told.keys()].sort());
      expect(
        [...accepted.values()].every((times) => times === 1),
        `${name} was told each once`,
      ).toBe(true);
      expect(changed, name).toEqual([]);
      for (const service of services) {
        const mine = lines(receiver(name)).filter((line) => line.includes(` ${service}:`));
        expect(mine, name).toEqual([`failing ${service}: firing`, `failing ${service}: resolved`]);
      }
      const again = [...tries.values()].filter((times) => times > 1).length;
      if (!['slow', 'away'].includes(name)) expect(again, `${name} was tried again`).toBeGreaterThanOrEqual(services.length);
    }
  });

  test('three processes tell over twelve partitions what one tells', async () => {
    const tell = async (name: string, hour: number, members: number): Promise<readonly string[]> => {
      const plan = briefIncidents({ seed: scenarioConfig.seed, startMs: ORIGIN_MS + hour * HOUR_MS, name });
      const receiver = await pushIncidents(cluster, { plan, members, stages: 'together', faults: {}, report });
      await receiver.close();
      expect(judge(plan, receiver).lines).toEqual([]);
      // When it ends, every partition is counted: what was measured, and of how many events, is then the sum over all of them.
      const ends = [...receiver.told.values()].filter(({ status }) => status === 'resolved');
      const sums = ends.map(({ rule, group, value, events }) => `${rule} ${JSON.stringify(group)} ended at ${value} of ${events} events`);
      return [...tellings(plan, receiver), ...sums.sort()].map((line) => line.replaceAll(`${name}-`, ''));
    };
    const one = await tell('one', 2, 1);
    expect(await tell('three', 3, 3)).toEqual(one);
  });

  test('rules that change while it runs: other words keep the episode, and a threshold that is not reached ends it', async () => {
    const rules = (threshold: number, words: string) =>
      rulesOf({ failing: `where: status_code >= 500; measure: count; window: 1m; condition: "> ${threshold}"` }, words);
    const { step, told, lines: toldLines, receiver, rewrite } = steps(await begin(4, { rules: rules(30, 'First words.') }));
    const failing = eventsOf('desk', 1, { status: 503 });
    await step(6, failing);
    const first = await told('failing', 'desk', 'firing');
    await rewrite(rules(30, 'Other words.'));
    await step(15, failing);
    await rewrite(rules(20, 'Other words.'));
    await step(15, failing);
    expect(toldLines()).toEqual(['failing desk: firing']);
    // More than there are events in a minute.
    await rewrite(rules(100, 'Other words.'));
    await step(15, failing);
    const ended = await told('failing', 'desk', 'resolved');
    expect(ended.incident).toBe(first.incident);
    expect(ended.value).toBe(72);
    await rewrite(rules(30, 'Other words.'));
    await step(3, failing);
    const second = await until('the second incident', 10_000, () =>
      [...receiver().told.values()].find(({ status, incident }) => status === 'firing' && incident !== first.incident),
    );
    expect([first.summary, second.summary]).toEqual(['desk: failing. First words.', 'desk: failing. Other words.']);
    expect(toldLines()).toEqual(['failing desk: firing', 'failing desk: resolved', 'failing desk: firing']);
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
    figure: (name: string) => trial.processors.living[0]?.figure(name),
    receiver: trial.receiver.bind(trial),
    rewrite: trial.rewrite.bind(trial),
  };
}
