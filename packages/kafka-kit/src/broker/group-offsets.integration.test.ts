import { afterAll, expect, it } from 'vitest';
import { countGroupMembers } from '../admin/group-view.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { systemClock } from '../time/clock.ts';
import { commitGroupOffsets, GroupIsLive } from './group-offsets.ts';
import type { GroupProtocol } from './membership.ts';
import { createNativeConsumer } from './native-consumer.ts';

const TIMEOUT_MS = 20_000;
const real = new RealKafka('group-offsets');
afterAll(() => real.close());

const PROTOCOLS: readonly GroupProtocol[] = [{ kind: 'consumer' }, { kind: 'classic', sessionTimeoutMs: 6000 }];

it.each(PROTOCOLS)(
  'the position of a stopped group ($kind) is set forwards and backwards, and that of a live one is refused',
  async (protocol) => {
    const topic = await real.topic(2);
    const group = real.name('group');
    const admin = await real.admin();
    const committed = async () => (await admin.groupLag(group, [topic])).map((each) => each.committed);
    const commit = (...offsets: readonly number[]) =>
      commitGroupOffsets(
        real.settings,
        group,
        offsets.map((nextToRead, partition) => ({ topic, partition, nextToRead })),
        TIMEOUT_MS,
      );
    const consumer = createNativeConsumer(real.settings, { group, protocol, maxPollIntervalMs: 60_000 });
    let owned = 0;
    await consumer.connect([topic], {
      rebalance: ({ kind, partitions }) => {
        owned = kind === 'assigned' ? partitions.length : 0;
        if (kind === 'assigned') consumer.assign(partitions.map((tp) => ({ ...tp, nextToRead: 0 })));
        else consumer.unassign(partitions);
      },
      commit: () => {},
      log: () => {},
    });
    for (let i = 0; i < 400 && owned < 2; i += 1) await consumer.poll(1, 50);
    expect(owned).toBe(2);
    expect(await countGroupMembers(real.settings, group, TIMEOUT_MS)).toBe(1);
    await expect(commit(3, 4)).rejects.toThrow(GroupIsLive);
    expect(await committed()).toEqual([null, null]);
    await consumer.close(10_000);
    for (let i = 0; i < 100 && (await countGroupMembers(real.settings, group, TIMEOUT_MS)) > 0; i += 1) await systemClock.sleep(50);
    await commit(7, 9);
    expect(await committed()).toEqual([7, 9]);
    await commit(2);
    expect(await committed()).toEqual([2, 9]);
    await commit(0, 0);
    expect(await committed()).toEqual([0, 0]);
  },
);

it('a group that is not there has no members, and gets its first position', async () => {
  const topic = await real.topic(1);
  const group = real.name('group');
  expect(await countGroupMembers(real.settings, group, TIMEOUT_MS)).toBe(0);
  await commitGroupOffsets(real.settings, group, [{ topic, partition: 0, nextToRead: 5 }], TIMEOUT_MS);
  const admin = await real.admin();
  expect((await admin.groupLag(group, [topic]))[0]?.committed).toBe(5);
});

it('what is no offset is refused before anything is asked: the client would commit 0', async () => {
  for (const nextToRead of [-1, 1.5, Number.NaN])
    await expect(commitGroupOffsets(real.settings, 'g', [{ topic: 't', partition: 0, nextToRead }], TIMEOUT_MS)).rejects.toThrow(
      RangeError,
    );
});
