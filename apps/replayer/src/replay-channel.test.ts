import { encodeSideRecord, type Published } from '@tailrace/kafka-kit';
import { expect, it } from 'vitest';
import { firstNotTaken } from './replay-channel.ts';

const record = (offset: number) => ({
  topic: 'events.indexer.replay',
  partition: 3,
  ...encodeSideRecord({
    origin: { topic: 'events', incarnation: 'lifeOne1', partition: 3, offset, timestampMs: 1 },
    notes: [],
    key: null,
    value: Buffer.from('v'),
    headers: [],
  }),
});
const taken: Published = { kind: 'acknowledged' };

it('a record that is too large for its side channel is named by where it stood, with what to do', () => {
  const fates: Published[] = [taken, { kind: 'unknown', reason: 'gone' }, { kind: 'refused', reason: 'Broker: Message size too large' }];
  expect(firstNotTaken([record(4), record(5), record(6)], fates)?.message).toBe(
    "Offset 6 of events, partition 3, was not taken by the side channel events.indexer.replay (Broker: Message size too large): raise max.message.bytes of events.indexer.replay with Kafka's kafka-configs.sh, run the plan again, which goes on there, and put the setting back with npx tailrace topics apply.",
  );
});

it('one that was not taken for another reason is named too, and of those that were taken nothing is said', () => {
  expect(firstNotTaken([record(4), record(5)], [taken, { kind: 'unknown', reason: 'gone' }])?.message).toBe(
    'Offset 5 of events, partition 3, was not taken by the side channel events.indexer.replay (gone).',
  );
  const plain = { topic: 'positions', partition: 0, key: null, value: null };
  expect(firstNotTaken([plain], [{ kind: 'withdrawn', reason: 'late' }])?.message).toBe(
    'A record for positions, partition 0, was not taken: late.',
  );
  expect(firstNotTaken([record(4)], [taken])).toBeUndefined();
});
