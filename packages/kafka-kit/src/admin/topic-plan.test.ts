import { expect, it } from 'vitest';
import { describeChange, planTopics, type TopicSpec } from './topic-plan.ts';

const spec: TopicSpec = {
  name: 'events',
  key: 'customer_id',
  partitions: 12,
  replicationFactor: 3,
  configs: { 'retention.ms': '1', 'cleanup.policy': 'delete' },
};
const actual = {
  name: 'events',
  partitions: 12,
  replicationFactor: 3,
  configs: { 'retention.ms': '1', 'cleanup.policy': 'delete', 'other.ms': '5' },
};
const plan = (more: Partial<TopicSpec>, is: Parameters<typeof planTopics>[1]): string[] =>
  planTopics([{ ...spec, ...more }], is).map((change) => `${change.kind} ${describeChange(change)}`);

it('nothing to do where the topic is as declared; settings that are not declared are left alone', () => {
  expect(plan({}, [actual])).toEqual([]);
});

it('settings that may not be read are said, and what can be seen is still checked', () => {
  const hidden = { ...actual, partitions: 6, configs: undefined };
  expect(plan({}, [hidden]).map((line) => line.split(' ')[0])).toEqual(['refused', 'unreadable']);
});

it('a setting that is not set is planned like one that differs', () => {
  expect(plan({ configs: { 'segment.ms': '7' } }, [{ ...actual, configs: {} }])).toEqual([
    'set-config ~ events: segment.ms is not set, must be 7',
  ]);
});

it('compaction is refused unless the key is an entity, also for a topic that is not there yet', () => {
  for (const policy of ['compact', 'compact,delete', 'delete,compact']) {
    expect(plan({ configs: { 'cleanup.policy': policy } }, [])).toEqual([
      expect.stringMatching(/^refused .*unique keys would never shrink/),
    ]);
    expect(plan({ key: 'entity', configs: { 'cleanup.policy': policy } }, [])).toEqual([
      'create + events: make it with 12 partitions and 3 replicas',
    ]);
  }
});

it('min.insync.replicas is never set apart from the replicas that it belongs to, in neither direction', () => {
  const insync = (min: string) => ({ configs: { 'min.insync.replicas': min } });
  expect(plan(insync('2'), [{ ...actual, replicationFactor: 1, ...insync('1') }])).toEqual([
    'refused ! Topic events has 1 replica and is declared with 3, so its min.insync.replicas is left as it is; move it with Kafka’s own kafka-reassign-partitions.',
  ]);
  expect(plan({ replicationFactor: 1, ...insync('1') }, [{ ...actual, ...insync('2') }])).toEqual([
    expect.stringMatching(/^refused .*where a cluster is meant, set TAILRACE_TOPIC_PROFILE=cluster/),
  ]);
  expect(plan(insync('2'), [{ ...actual, ...insync('1') }])).toEqual(['set-config ~ events: min.insync.replicas is 1, must be 2']);
});

it('a side topic keeps its records longer than its source really does in the cluster', () => {
  const side: TopicSpec = { ...spec, name: 'events.g.dlq', source: 'events', configs: { 'retention.ms': '7200000' } };
  const planned = (retention: string | null | undefined): string[] =>
    planTopics(
      [side],
      [
        { ...actual, name: side.name, configs: { 'retention.ms': '7200000' } },
        ...(retention === undefined ? [] : [{ ...actual, configs: retention === null ? undefined : { 'retention.ms': retention } }]),
      ],
    ).map(describeChange);
  expect([planned(undefined), planned(null), planned('7199999')]).toEqual([[], [], []]);
  for (const [retention, kept] of [
    ['7200000', '2 hours'],
    ['7200001', '7200001 ms'],
    ['-1', 'ever'],
  ] as const)
    expect(planned(retention)).toEqual([
      `! Topic events.g.dlq is declared to keep its records for 2 hours, and events keeps its own for ${kept} in this cluster; it must keep them longer than the topic that they come from: lower retention.ms of events, or declare a longer one for events.g.dlq.`,
    ]);
});

it('replicas that the cluster has no brokers for name the local profile, for a topic that is there and for one that is not', () => {
  for (const is of [[{ ...actual, replicationFactor: 1 }], []]) {
    const [line] = planTopics([spec], is, 1).map(describeChange);
    expect(line).toMatch(/^! .*Kafka has 1 broker: where a single broker is meant, set TAILRACE_TOPIC_PROFILE=local/);
    expect(planTopics([spec], is, 3).map(describeChange).join()).not.toContain('TAILRACE_TOPIC_PROFILE');
  }
});
