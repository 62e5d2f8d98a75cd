import { describe, expect, it } from 'vitest';
import { groupNamed, groups } from './groups.ts';
import { SERVICE_EVENTS_TOPIC, streams, topicsFor } from './topics.ts';

const topics = topicsFor('cluster');
const retentionMs = (name: string) => Number(topics.find((topic) => topic.name === name)?.configs['retention.ms']);

describe('declared topics', () => {
  it('make only service-events, what belongs to the indexer and to alerts, and the positions now, as the design has it', () => {
    expect(topics.filter((topic) => topic.state === 'active')).toEqual([
      {
        name: 'service-events',
        about: 'Every accepted event, for 48 hours.',
        state: 'active',
        key: 'customer',
        partitions: 12,
        replicationFactor: 3,
        configs: {
          'cleanup.policy': 'delete',
          'retention.ms': '172800000',
          'segment.ms': '3600000',
          'min.insync.replicas': '2',
          'compression.type': 'producer',
          'message.timestamp.type': 'LogAppendTime',
          'unclean.leader.election.enable': 'false',
          'max.message.bytes': '2097152',
        },
      },
      {
        name: 'service-events.indexer.dlq',
        about: 'Records that indexer could not take, each with the reason.',
        state: 'active',
        key: 'as-source',
        source: 'service-events',
        partitions: 12,
        replicationFactor: 3,
        configs: {
          'cleanup.policy': 'delete',
          'retention.ms': '1209600000',
          'min.insync.replicas': '2',
          'message.timestamp.type': 'LogAppendTime',
          'unclean.leader.election.enable': 'false',
          'max.message.bytes': '2162688',
        },
      },
      {
        name: 'service-events.indexer.replay',
        about: 'Replayed records for indexer, apart from the live ones.',
        state: 'active',
        key: 'as-source',
        source: 'service-events',
        partitions: 12,
        replicationFactor: 3,
        configs: {
          'cleanup.policy': 'delete',
          'retention.ms': '604800000',
          'min.insync.replicas': '2',
          'message.timestamp.type': 'LogAppendTime',
          'unclean.leader.election.enable': 'false',
          'max.message.bytes': '2162688',
        },
      },
      {
        name: 'alert-partials',
        about:
          'Partial measures of rules on their way to the deciding stage, by rule and group. Kept for the longest look-back of a rule, the lateness and a day: look-backs up to about 23 hours.',
        state: 'active',
        key: 'none',
        partitions: 12,
        replicationFactor: 3,
        configs: {
          'cleanup.policy': 'delete',
          'retention.ms': '172800000',
          'segment.ms': '600000',
          'min.insync.replicas': '2',
          'message.timestamp.type': 'LogAppendTime',
          'unclean.leader.election.enable': 'false',
          'max.message.bytes': '2097152',
        },
      },
      {
        name: 'alert-state',
        about: 'The state of each alert.',
        state: 'active',
        key: 'entity',
        partitions: 12,
        replicationFactor: 3,
        configs: {
          'cleanup.policy': 'compact,delete',
          'retention.ms': '2592000000',
          'segment.ms': '3600000',
          'min.insync.replicas': '2',
          'message.timestamp.type': 'LogAppendTime',
          'unclean.leader.election.enable': 'false',
          'max.message.bytes': '2097152',
        },
      },
      {
        name: 'tailrace.positions',
        about: 'Where each group stands, kept a second time: Kafka forgets the offsets of a group without members.',
        state: 'active',
        key: 'entity',
        partitions: 1,
        replicationFactor: 3,
        configs: {
          'cleanup.policy': 'compact',
          'segment.ms': '3600000',
          'min.insync.replicas': '2',
          'unclean.leader.election.enable': 'false',
          'max.message.bytes': '2097152',
        },
      },
    ]);
  });

  it('have one replica on a local cluster, and are else the same', () => {
    for (const [i, local] of topicsFor('local').entries()) {
      const { replicationFactor, configs, ...rest } = local;
      expect([replicationFactor, configs['min.insync.replicas']]).toEqual([1, '1']);
      expect(topics[i]).toMatchObject(rest);
    }
  });

  it('have legal and different names', () => {
    const names = topics.map((topic) => topic.name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9._-]{1,249}$/);
  });

  it('keep a group’s own topics longer than the source, with its partitions and room for more headers', () => {
    const source = topics.find((topic) => topic.name === SERVICE_EVENTS_TOPIC);
    const own = groups.flatMap((group) => group.sideTopics.map((kind) => `${SERVICE_EVENTS_TOPIC}.${group.name}.${kind}`));
    expect(own.length).toBeGreaterThan(0);
    for (const name of own) {
      const topic = topics.find((candidate) => candidate.name === name);
      expect(topic?.partitions).toBe(source?.partitions);
      expect(retentionMs(name)).toBeGreaterThan(retentionMs(SERVICE_EVENTS_TOPIC));
      expect(topic?.configs['max.message.bytes']).toBe('2162688');
    }
  });

  it('compact only what has an entity for a key', () => {
    for (const topic of topics) if (topic.configs['cleanup.policy']?.includes('compact')) expect(topic.key).toBe('entity');
  });

  it('are what the streams are made of', () => {
    const names = topics.map((topic) => topic.name);
    for (const stream of Object.values(streams)) expect(names).toEqual(expect.arrayContaining([...stream]));
  });

  it('come with groups that can be named', () => {
    expect(groupNamed('indexer').allowedDelayMs).toBe(300_000);
  });
});
