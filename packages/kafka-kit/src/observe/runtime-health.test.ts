import { expect, it } from 'vitest';
import { type Outcome, STORED } from '../consume/contract.ts';
import { RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';
import { runtimeHealth } from './runtime-health.ts';

it('says how a runtime is, from before its start to behind its end', async () => {
  const rig = new RuntimeRig(2);
  const member = rig.member();
  const health = () => runtimeHealth(member.runtime, undefined, rig.clock.nowMs());
  expect(health()).toEqual({ state: 'not-ready', sentence: 'The consumer has not been started.' });
  await rig.start(member);
  expect(health()).toEqual({ state: 'ok', sentence: 'The consumer reads 2 partitions, 2 of them still looking for their position.' });
  await rig.until(() => rig.committed(1) === 0, 'opened');
  await rig.clock.advance(1000);
  expect(health()).toEqual({ state: 'ok', sentence: 'The consumer reads 2 partitions.' });
  const stopping = rig.stop(member);
  expect(health().state).toBe('not-ready');
  await stopping;
  expect(health()).toEqual({ state: 'not-ready', sentence: 'The consumer has stopped.' });
});

it('is degraded, and names the partition, while one waits for a server or for a person', async () => {
  const rig = new RuntimeRig(6);
  const member = await rig.running();
  member.sink.respond = ({ offsets, partition }) => {
    if (partition === 2) throw new Error('the store is away');
    return offsets.map((): Outcome => (partition === 3 ? { kind: 'dead', reason: 'not JSON' } : STORED));
  };
  rig.append(1, 2);
  await rig.clock.advance(30_000);
  const health = () => runtimeHealth(member.runtime, { kafka: 'Kafka at b:1', sink: 'the store at s:2' }, rig.clock.nowMs());
  expect(health()).toEqual({
    state: 'degraded',
    sentence: `${TOPIC}, partition 2 has been waiting for the store at s:2 for 30 s and goes on by itself: the store is away`,
  });
  rig.append(1, 3);
  await rig.clock.advance(1000);
  expect(health().sentence).toMatch(
    new RegExp(`^Group readers can not process the record at ${TOPIC}, partition 3, offset 0: not JSON. ${TOPIC}, partition 2`),
  );
  member.sink.respond = () => {
    throw new Error('all is away');
  };
  for (const partition of [0, 1, 4, 5]) rig.append(1, partition);
  await rig.clock.advance(1000);
  expect(health().sentence).toMatch(/And 3 more\.$/);
});

it('a member without a partition is well: others own them all', async () => {
  const rig = new RuntimeRig(1);
  await rig.running();
  const second = rig.member();
  await rig.start(second);
  expect(runtimeHealth(second.runtime, undefined, rig.clock.nowMs()).state).toBe('ok');
});

it('is degraded, and names the partition, while a sink hangs: neither an answer nor an error comes from it', async () => {
  const rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(3);
  await rig.until(() => member.sink.open.length === 1, 'handed over');
  const health = () => runtimeHealth(member.runtime, undefined, rig.clock.nowMs());
  await rig.clock.advance(5000);
  expect(health().state).toBe('ok');
  await rig.clock.advance(7000);
  expect(health()).toEqual({
    state: 'degraded',
    sentence: `${TOPIC}, partition 0 has been waiting for 12 s for an answer of the sink about records that it handed over.`,
  });
  for (const write of [...member.sink.open]) write.store();
  await rig.clock.advance(100);
  expect(health().state).toBe('ok');
});

it('a member without a partition says since when, and is degraded where its topic is not there or Kafka does not answer', async () => {
  const rig = new RuntimeRig(1);
  const first = await rig.running();
  const spare = rig.member();
  await rig.start(spare);
  await rig.clock.advance(100_000);
  const health = () => runtimeHealth(spare.runtime, undefined, rig.clock.nowMs());
  const owns = 'The consumer has owned no partition since 2026-01-01T00:00:00';
  expect(health()).toEqual({
    state: 'ok',
    sentence: expect.stringMatching(new RegExp(`^${owns}.*: it is joining, or other members own them all.$`)),
  });
  rig.cluster.down = true;
  await rig.clock.advance(45_000);
  expect(health()).toEqual({
    state: 'degraded',
    sentence: expect.stringMatching(new RegExp(`^${owns}.*, and Kafka has not answered for 4. s.$`)),
  });
  rig.cluster.down = false;
  await rig.clock.advance(11_000);
  expect(health().state).toBe('ok');
  rig.cluster.group('readers').move(rig.tp(), spare.consumer.id);
  await rig.until(() => spare.runtime.lanes().length === 1, 'taken over');
  expect(health().sentence).toMatch(/^The consumer reads 1 partition/);
  rig.cluster.group('readers').move(rig.tp(), first.consumer.id);
  await rig.until(() => first.runtime.lanes().length === 1, 'given back');
  expect(health()).toMatchObject({ state: 'ok', sentence: expect.stringMatching(/since 2026-01-01T00:02:/) });
  rig.cluster.deleteTopic(TOPIC);
  await rig.clock.advance(11_000);
  expect(health()).toMatchObject({ state: 'degraded', sentence: expect.stringContaining(`topic ${TOPIC} does not exist`) });
  rig.cluster.createTopic(TOPIC, 1);
  await rig.clock.advance(11_000);
  expect(health().state).toBe('ok');
});

it('does not look well while Kafka is frozen: a member that owns partitions says for how long no answer has come', async () => {
  const rig = new RuntimeRig(2);
  const member = await rig.running();
  const health = () => runtimeHealth(member.runtime, { kafka: 'Kafka at b:1', sink: 'the store' }, rig.clock.nowMs());
  await rig.clock.advance(30_000);
  expect(health()).toEqual({ state: 'ok', sentence: 'The consumer reads 2 partitions.' });
  rig.cluster.down = true;
  await rig.clock.advance(50_000);
  expect(health()).toMatchObject({ state: 'degraded', sentence: expect.stringMatching(/^Kafka at b:1 has not answered for 4\d s\./) });
  rig.cluster.down = false;
  await rig.clock.advance(11_000);
  expect(health()).toEqual({ state: 'ok', sentence: 'The consumer reads 2 partitions.' });
});

it('does not blame the sink alone while Kafka does not answer: a sink may ask Kafka, too', async () => {
  const rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(3);
  await rig.until(() => member.sink.open.length === 1, 'handed over');
  rig.cluster.down = true;
  await rig.clock.advance(25_000);
  const { sentence } = runtimeHealth(member.runtime, { kafka: 'Kafka at b:1', sink: 'the store at s:2' }, rig.clock.nowMs());
  expect(sentence).toContain('s for an answer of Kafka at b:1 or the store at s:2 about records that it handed over.');
});
