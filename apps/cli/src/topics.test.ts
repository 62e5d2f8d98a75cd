import { SERVICE_EVENTS_TOPIC, topicsFor } from '@tailrace/events';
import type { ActualTopic, TopicChange } from '@tailrace/kafka-kit';
import { expect, it } from 'vitest';
import { applyCommand } from './topics.ts';

const active = topicsFor('local').filter(({ state }) => state === 'active');
const [declared] = active.filter(({ name }) => name === SERVICE_EVENTS_TOPIC);
if (declared === undefined) throw new Error('the topic is not declared');
const others = active.filter((topic) => topic !== declared);

/** One broker, which does what is applied. */
function brokerWith(...given: ActualTopic[]) {
  const topics = given.map((topic) => ({ ...topic, configs: { ...topic.configs } }));
  const applied: TopicChange[] = [];
  return {
    applied,
    brokerCount: async () => 1,
    readTopics: async () => topics.map((topic) => ({ ...topic, configs: { ...topic.configs } })),
    apply: async (changes: readonly TopicChange[]) => {
      for (const change of changes) {
        if (change.kind === 'create') topics.push({ ...change.spec, configs: { ...change.spec.configs } });
        if (change.kind === 'set-config')
          Object.assign(topics.find(({ name }) => name === change.topic)?.configs ?? {}, { [change.name]: change.to });
        if (change.kind === 'create' || change.kind === 'set-config') applied.push(change);
      }
    },
  };
}

async function applied(admin: ReturnType<typeof brokerWith>, profile: 'local' | 'cluster', dryRun = false) {
  let lines: readonly string[] = [];
  const result = (_: object, given: readonly string[]): void => {
    lines = given;
  };
  return { code: await applyCommand(admin, profile, dryRun, { result }), lines };
}

it('apply says what it did, not what there was to do', async () => {
  expect(await applied(brokerWith(), 'local')).toEqual({
    code: 0,
    lines: [
      '+ service-events: created with 12 partitions and 1 replica',
      '+ service-events.indexer.dlq: created with 12 partitions and 1 replica',
      '+ service-events.indexer.replay: created with 12 partitions and 1 replica',
      '+ alert-partials: created with 12 partitions and 1 replica',
      '+ alert-state: created with 12 partitions and 1 replica',
      '+ tailrace.positions: created with 1 partition and 1 replica',
      'The topics are as declared.',
    ],
  });
  const drifted = { ...declared, configs: { ...declared.configs, 'retention.ms': '1' } };
  expect((await applied(brokerWith(drifted, ...others), 'local')).lines[0]).toBe('~ service-events: retention.ms set to 172800000 (was 1)');
  expect((await applied(brokerWith(drifted, ...others), 'local', true)).lines).toEqual([
    'would do: ~ service-events: retention.ms is 1, must be 172800000',
    'Nothing was changed.',
  ]);
});

it('apply with the wrong profile neither raises min.insync.replicas above the replicas nor makes a topic that a broker can not hold', async () => {
  for (const admin of [brokerWith(declared, ...others), brokerWith()]) {
    const { code, lines } = await applied(admin, 'cluster');
    expect(code).toBe(1);
    expect(lines[0]).toMatch(
      /^! Topic service-events .* Kafka has 1 broker: where a single broker is meant, set TAILRACE_TOPIC_PROFILE=local/,
    );
    expect(admin.applied).toEqual([]);
  }
});

it('apply mends a min.insync.replicas that is above the replicas', async () => {
  const admin = brokerWith({ ...declared, configs: { ...declared.configs, 'min.insync.replicas': '2' } }, ...others);
  expect(await applied(admin, 'local')).toMatchObject({
    code: 0,
    lines: ['~ service-events: min.insync.replicas set to 1 (was 2)', expect.anything()],
  });
});

it('a source that keeps its records longer than its dead letters are kept is a finding, and apply puts the source right', async () => {
  const admin = brokerWith({ ...declared, configs: { ...declared.configs, 'retention.ms': String(30 * 86_400_000) } }, ...others);
  const { code, lines } = await applied(admin, 'local', true);
  expect(code).toBe(1);
  expect(lines[1]).toBe(
    'would do: ! Topic service-events.indexer.dlq is declared to keep its records for 14 days, and service-events keeps its own for 30 days in this cluster; it must keep them longer than the topic that they come from: lower retention.ms of service-events, or declare a longer one for service-events.indexer.dlq.',
  );
  expect(await applied(admin, 'local')).toMatchObject({ code: 0 });
});
