import { expect, it } from 'vitest';
import { type Outcome, STORED } from '../consume/contract.ts';
import { RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';
import { runtimeHealth } from './runtime-health.ts';

it('says how a runtime is, from before its start to behind its end', async () => {
  const rig = new RuntimeRig(2);
  const member = rig.member();
  const health = () => runtimeHealth(member.runtime, rig.clock.nowMs());
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
  const health = () => runtimeHealth(member.runtime, rig.clock.nowMs());
  expect(health()).toEqual({
    state: 'degraded',
    sentence: `${TOPIC}, partition 2 has been waiting for 30 s and goes on by itself: the store is away`,
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
  expect(runtimeHealth(second.runtime, rig.clock.nowMs()).state).toBe('ok');
});

it('is degraded, and names the partition, while a sink hangs: neither an answer nor an error comes from it', async () => {
  const rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(3);
  await rig.until(() => member.sink.open.length === 1, 'handed over');
  const health = () => runtimeHealth(member.runtime, rig.clock.nowMs());
  await rig.clock.advance(5000);
  expect(health().state).toBe('ok');
  await rig.clock.advance(7000);
  expect(health()).toEqual({
    state: 'degraded',
    sentence: `${TOPIC}, partition 0 has been waiting for 12 s for an answer about records that it handed over.`,
  });
  for (const write of [...member.sink.open]) write.store();
  await rig.clock.advance(100);
  expect(health().state).toBe('ok');
});
