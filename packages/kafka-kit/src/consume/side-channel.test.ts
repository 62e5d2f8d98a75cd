import { describe, expect, it } from 'vitest';
import { ChannelRig, checksumOf } from '../testing/channel-rig.ts';
import { GROUP } from '../testing/runtime-rig.ts';
import { ScriptedSink } from '../testing/scripted-sink.ts';
import { STORED } from './contract.ts';
import { SideChannel } from './side-channel.ts';

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

  it('counts plans of one number apart, by the names that they have on Kafka', async () => {
    const rig = await ChannelRig.open();
    for (const mark of ['1-0a1b2c3d', '1-ffffffff']) rig.open(mark);
    rig.send('1-0a1b2c3d', [10, 11, 12]);
    rig.send('1-ffffffff', [10, 11]);
    await rig.running();
    await rig.until(() => rig.committed() === 5, 'all is committed');
    expect(rig.kept().at(-1)?.plans).toEqual({
      '1-0a1b2c3d': { ...NONE, through: 12, stored: 3, checksum: checksumOf([10, 11, 12]) },
      '1-ffffffff': { ...NONE, through: 11, stored: 2, checksum: checksumOf([10, 11]) },
    });
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
    expect(rig.committed() ?? 0).toBe(0);
    rig.producer.faults = {};
    await rig.until(() => rig.committed() === 4, 'all is committed');
    expect(rig.kept().at(-1)?.plans[7]).toMatchObject({ through: 3, stored: 4, checksum: checksumOf([0, 1, 2, 3]) });
  });

  it('begins at its record, whatever the commit says, and goes on counting there', async () => {
    const rig = await ChannelRig.open();
    rig.open(7);
    rig.send(7, [0, 1, 2, 3]);
    rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 1 });
    const before = { through: 1, stored: 1, skipped: { old: 1 }, dead: 0, retried: 4, checksum: checksumOf([0, 1]) };
    rig.keep({ nextToRead: 2, plans: { 7: before } });
    const { sink } = await rig.running();
    await rig.until(() => rig.committed() === 4, 'all is committed');
    expect(sink.offsets()).toEqual([2, 3]);
    expect(rig.kept().at(-1)?.plans).toEqual({ 7: { ...before, through: 3, stored: 3, checksum: checksumOf([0, 1, 2, 3]) } });
  });

  it('writes again what was sent again, and counts it once', async () => {
    const rig = await ChannelRig.open(1, { batch: { maxRecords: 2, maxBytes: 1_000_000, maxAgeMs: 100 }, inFlightPerLane: 2 });
    rig.open(7);
    rig.send(7, [5, 8, 9, 8, 9, 12]);
    const { sink } = await rig.running();
    await rig.until(() => rig.committed() === 6, 'all is committed');
    expect(sink.offsets()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(rig.kept().at(-1)?.plans).toEqual({ 7: { ...NONE, through: 12, stored: 4, checksum: checksumOf([5, 8, 9, 12]) } });
  });

  it('counts a dead record when its letter is kept, in its place', async () => {
    const rig = await ChannelRig.open();
    rig.open(7);
    let acknowledge = (): void => {};
    const acknowledged = new Promise<void>((resolve) => {
      acknowledge = resolve;
    });
    rig.deadLetters = {
      topic: () => 'dlq',
      publisher: {
        publish: async (records) => {
          await acknowledged;
          return records.map(() => ({ kind: 'acknowledged' as const }));
        },
      },
      unsendable: async () => {},
      budget: undefined,
    };
    rig.send(7, [0, 1, 2]);
    const sink = new ScriptedSink();
    sink.respond = ({ offsets }) => offsets.map((offset) => (offset === 1 ? { kind: 'dead', reason: 'bad' } : STORED));
    await rig.running(sink);
    await rig.until(() => rig.committed() === 1, 'what stands before it is committed');
    await rig.clock.advance(3000);
    expect(rig.kept().map(({ nextToRead, plans }) => [nextToRead, plans[7]?.through])).toEqual([[1, 0]]);
    acknowledge();
    await rig.until(() => rig.committed() === 3, 'all is committed');
    expect(rig.kept().at(-1)?.plans[7]).toEqual({
      through: 2,
      stored: 2,
      skipped: {},
      dead: 1,
      retried: 0,
      checksum: checksumOf([0, 1, 2]),
    });
  });

  it('believes no record of another life of the topic, nor a commit: it begins at the log’s start, with nothing counted', async () => {
    const rig = await ChannelRig.open();
    rig.open(7);
    rig.send(7, [0, 1, 2]);
    rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 2 });
    const old = { through: 90, stored: 91, skipped: {}, dead: 0, retried: 0, checksum: checksumOf([]) };
    rig.keep({ nextToRead: 3, plans: { 7: old }, incarnation: 'oldLife1' });
    const { sink } = await rig.running();
    await rig.until(() => rig.committed() === 3, 'all is committed');
    expect(sink.offsets()).toEqual([0, 1, 2]);
    expect(rig.kept().at(-1)).toMatchObject({ incarnation: 'mem00001', plans: { 7: { through: 2, stored: 3 } } });
  });

  it('drops what it counted of a plan whose receipt stands: when it opens, and when another plan comes', async () => {
    const rig = await ChannelRig.open();
    const done = { through: 9, stored: 10, skipped: {}, dead: 0, retried: 0, checksum: checksumOf([]) };
    rig.open(3);
    rig.receipt(3);
    rig.open(4);
    rig.keep({ nextToRead: 0, plans: { 3: done, 4: done } });
    const member = await rig.running();
    rig.send(4, [10]);
    const plans = (): string[] => Object.keys(rig.kept().at(-1)?.plans ?? {});
    await rig.until(() => rig.committed() === 1, 'it is committed');
    expect([plans(), rig.readings]).toEqual([['4'], 1]);
    rig.receipt(4);
    rig.open(5);
    rig.send(5, [0]);
    await rig.until(() => rig.committed() === 2, 'the next plan is committed');
    expect([plans(), rig.readings]).toEqual([['5'], 2]);
    rig.send(5, [1]);
    await rig.until(() => rig.committed() === 3, 'more of it is committed');
    expect(rig.readings).toBe(2);
    await rig.stop(member);
  });

  it('counts no plan that nobody opened', async () => {
    const rig = await ChannelRig.open();
    rig.send(8, [0, 1]);
    const { sink } = await rig.running();
    await rig.until(() => rig.committed() === 2, 'it is committed');
    expect([sink.offsets(), rig.kept().at(-1)?.plans]).toEqual([[0, 1], {}]);
  });

  it('writes its record once a second while it moves, and what is left before it gives a partition back or stops', async () => {
    const rig = await ChannelRig.open();
    rig.open(7);
    const member = await rig.running();
    for (let i = 0; i < 50; i += 1) {
      rig.send(7, [i]);
      await rig.clock.advance(100);
    }
    expect(rig.kept().length).toBeGreaterThanOrEqual(4);
    expect(rig.kept().length).toBeLessThanOrEqual(6);
    rig.send(7, [50, 51]);
    await rig.until(() => member.sink.offsets().length === 52, 'they are stored');
    const report = await rig.stop(member);
    expect(report).toMatchObject({ committed: true, abandonedRecords: 0 });
    expect([rig.committed(), rig.kept().at(-1)?.nextToRead, rig.kept().at(-1)?.plans[7]?.stored]).toEqual([52, 52, 52]);
  });

  it('writes it before a rebalance takes the partition away, and the next owner goes on there', async () => {
    const rig = await ChannelRig.open(2);
    rig.open(7, 1);
    const first = await rig.running();
    rig.send(7, [0, 1, 2], 1);
    await rig.until(() => first.sink.offsets(1).length === 3, 'they are stored');
    const second = rig.member();
    await rig.start(second);
    await rig.until(() => second.runtime.lanes().some(({ phase }) => phase === 'running'), 'it has a partition');
    rig.send(7, [3], 1);
    await rig.until(() => rig.committed(1) === 4, 'all is committed');
    expect(second.sink.offsets(1)).toEqual([3]);
    expect(rig.kept(1).at(-1)?.plans[7]).toMatchObject({ through: 3, stored: 4 });
  });

  it('I6 keeps no stop and no revoke beyond its time when the record can not be written, and commits nothing then', async () => {
    const rig = await ChannelRig.open();
    rig.open(7);
    rig.send(7, [0]);
    rig.producer.gate = new Promise(() => {});
    const member = await rig.running();
    await rig.until(() => member.sink.offsets().length === 1, 'it is stored');
    const sinceMs = rig.clock.nowMs();
    const report = await rig.stop(member, 4000);
    expect(rig.clock.nowMs() - sinceMs).toBeLessThanOrEqual(4000);
    expect([report.abandonedRecords, rig.committed() ?? 0, rig.kept()]).toEqual([0, 0, []]);
  });

  it('writes it again at rest, so that a late one of an owner before does not stand for ever', async () => {
    const rig = await ChannelRig.open();
    rig.open(7);
    rig.send(7, [0, 1]);
    await rig.running();
    await rig.until(() => rig.committed() === 2, 'all is committed');
    rig.keep({ nextToRead: 1, plans: { 7: { ...NONE, through: 0, stored: 1, checksum: checksumOf([0]) } } });
    await rig.clock.advance(61_000);
    expect(rig.kept().at(-1)).toMatchObject({ nextToRead: 2, plans: { 7: { through: 1, stored: 2 } } });
  });

  it('opens nothing while the records can not be read', async () => {
    const rig = await ChannelRig.open();
    rig.send(7, [0]);
    const { channel } = rig;
    let isAway = true;
    if (channel !== undefined)
      rig.channel = { ...channel, read: () => (isAway ? Promise.reject(new Error('can not be read')) : channel.read()) };
    const member = rig.member();
    await rig.start(member);
    await rig.clock.advance(5000);
    expect(rig.lane(member)).toMatchObject({ phase: 'opening', outage: { reason: 'can not be read' } });
    isAway = false;
    await rig.until(() => member.sink.offsets().length === 1, 'it is read');
  });

  it('is for no sink that keeps a position of its own', () => {
    const sink = new ScriptedSink();
    sink.assign = async () => undefined;
    const port = { read: async () => ({ positions: new Map(), sent: new Map(), unreadable: 0 }), write: async () => {} };
    expect(() => new SideChannel(sink, port)).toThrow('sink scripted has a position of its own');
  });
});
