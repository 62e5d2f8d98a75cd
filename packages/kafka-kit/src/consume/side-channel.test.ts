import { describe, expect, it } from 'vitest';
import { ChannelRig, checksumOf } from '../testing/channel-rig.ts';
import { ScriptedSink } from '../testing/scripted-sink.ts';
import { STORED } from './contract.ts';

const NONE = { through: -1, stored: 0, skipped: {}, dead: 0, retried: 0 };

describe('the consumer of a side channel', () => {
  it('writes where it stands with what became of each plan, before it commits', async () => {
    const rig = await ChannelRig.open();
    rig.open(7);
    rig.send(7, [10, 11, 12]);
    rig.send(undefined, [3]);
    const member = await rig.running();
    await rig.until(() => rig.committed() === 4, 'all is committed');
    const [first, ...more] = rig.kept();
    expect(more).toEqual([]);
    const applied = { ...NONE, through: 12, stored: 3, checksum: checksumOf([10, 11, 12]) };
    expect(first).toMatchObject({ incarnation: 'mem00001', nextToRead: 4, plans: { 7: applied } });
    await rig.stop(member);
    expect(rig.kept()).toHaveLength(1);
  });

  it('says of every position that it writes what became of exactly the records below, whatever settles behind', async () => {
    const rig = await ChannelRig.open(1, { inFlightPerLane: 3 });
    rig.open(7);
    rig.send(7, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const sink = new ScriptedSink();
    sink.hold = true;
    await rig.running(sink);
    await rig.until(() => sink.open.length === 1, 'a batch is there');
    sink.waiting.answer([
      STORED,
      { kind: 'skipped', reason: 'old' },
      { kind: 'retry', reason: 'busy' },
      ...Array.from({ length: 7 }, () => STORED),
    ]);
    await rig.until(() => rig.committed() === 2, 'what is settled is committed');
    expect(rig.kept().at(-1)).toMatchObject({
      nextToRead: 2,
      plans: { 7: { ...NONE, through: 1, stored: 1, skipped: { old: 1 }, checksum: checksumOf([0, 1]) } },
    });
    await rig.until(() => sink.open.length === 1, 'the record comes again');
    sink.waiting.store();
    await rig.until(() => rig.committed() === 10, 'all is committed');
    expect(rig.kept().at(-1)).toMatchObject({
      nextToRead: 10,
      plans: {
        7: { through: 9, stored: 9, skipped: { old: 1 }, dead: 0, retried: 1, checksum: checksumOf([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) },
      },
    });
  });

  it('commits nothing while its record can not be written, tells it, tries again, and goes on reading', async () => {
    const rig = await ChannelRig.open();
    rig.open(7);
    rig.send(7, [0, 1]);
    rig.producer.faults = { deliver: () => ({ reason: 'no such topic', certain: true, own: false }) };
    const member = await rig.running();
    const failed = (): unknown[] => member.events.filter((event) => event.kind === 'positions' && event.outcome === 'not-written');
    await rig.until(() => failed().length >= 3, 'it is tried again');
    rig.send(7, [2, 3]);
    await rig.until(() => member.sink.offsets().length === 4, 'it reads on');
    expect(rig.committed()).toBeNull();
    rig.producer.faults = {};
    await rig.until(() => rig.committed() === 4, 'all is committed');
    expect(rig.kept().at(-1)?.plans[7]).toMatchObject({ through: 3, stored: 4, checksum: checksumOf([0, 1, 2, 3]) });
  });
});
