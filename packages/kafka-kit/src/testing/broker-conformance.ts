import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type BrokerHarness, Member } from './conformance-member.ts';
import type { NewRecord } from './memory-log.ts';

const FACTS_MS = 10_000;

/** What every implementation of `BrokerConsumer` must do: the runtime is built on no more and no less. */
export function brokerConformance(name: string, makeHarness: () => Promise<BrokerHarness>): void {
  describe(`broker conformance: ${name}`, () => {
    let harness: BrokerHarness;
    const members: Member[] = [];

    beforeAll(async () => {
      harness = await makeHarness();
    });

    afterEach(async () => {
      for (const { consumer } of members.splice(0)) await harness.run(consumer.close(10_000));
    });

    const member = (group: string): Member => {
      const made = new Member(harness, group);
      members.push(made);
      return made;
    };
    const closed = async (made: Member): Promise<void> => {
      members.splice(members.indexOf(made), 1);
      await harness.run(made.consumer.close(10_000));
    };

    it('an explicit position beats the commit, below and above it, and a later unassign and assign sets the partition anew', async () => {
      const topic = await harness.topic(1);
      const tp = { topic, partition: 0 };
      await harness.write(tp, numbered(10));
      const one = member(harness.group());
      one.startAt = 7;
      await one.joined(topic);
      await one.until(() => one.records.length >= 3, 'the rest from 7');
      expect(one.offsets()).toEqual([7, 8, 9]);
      one.consumer.store([{ ...tp, nextToRead: 8 }]);
      one.consumer.unassign([tp]);
      one.consumer.assign([{ ...tp, nextToRead: 2 }]);
      await one.until(() => one.records.length >= 11, 'all from 2');
      expect(one.offsets()).toEqual([7, 8, 9, 2, 3, 4, 5, 6, 7, 8, 9]);
    });

    it('what is stored is committed on unassign and told by the handler; a lower position is never committed', async () => {
      const topic = await harness.topic(1);
      const tp = { topic, partition: 0 };
      const group = harness.group();
      await harness.write(tp, numbered(10));
      const one = member(group);
      await one.joined(topic);
      await one.until(() => one.records.length === 10, 'ten records');
      one.consumer.store([{ ...tp, nextToRead: 6 }]);
      one.consumer.commitStored();
      await one.until(() => one.commits.length > 0, 'the first commit');
      expect(one.commits).toEqual([{ kind: 'committed', positions: [{ ...tp, nextToRead: 6 }] }]);
      one.consumer.store([{ ...tp, nextToRead: 3 }]);
      one.consumer.commitStored();
      await one.turns(30);
      expect(await harness.committed(group, tp)).toBe(6);
      one.consumer.store([{ ...tp, nextToRead: 9 }]);
      one.consumer.unassign([tp]);
      await one.until(() => one.commits.some(({ positions }) => positions[0]?.nextToRead === 9), 'the commit of the unassign');
      expect(await harness.committed(group, tp)).toBe(9);
    });

    it('what was committed is not committed once more on unassign: the topic may be another one by then', async () => {
      const topic = await harness.topic(1);
      const tp = { topic, partition: 0 };
      const one = member(harness.group());
      await one.joined(topic);
      await harness.write(tp, numbered(10));
      await one.until(() => one.records.length === 10, 'ten records');
      one.consumer.store([{ ...tp, nextToRead: 10 }]);
      one.consumer.commitStored();
      await one.until(() => one.commits.length > 0, 'the commit');
      one.consumer.unassign([tp]);
      one.consumer.assign([{ ...tp, nextToRead: 0 }]);
      await one.until(() => one.records.length === 20, 'all records again');
      await one.turns(20);
      expect(one.commits).toHaveLength(1);
    });

    it('what is stored is committed by the timer, and on close', async () => {
      const topic = await harness.topic(1);
      const tp = { topic, partition: 0 };
      const group = harness.group();
      await harness.write(tp, numbered(10));
      const one = member(group);
      await one.joined(topic);
      await one.until(() => one.records.length === 10, 'ten records');
      one.consumer.store([{ ...tp, nextToRead: 4 }]);
      await one.until(() => one.commits.some(({ kind }) => kind === 'committed'), 'the timer’s commit');
      expect(await harness.committed(group, tp)).toBe(4);
      one.consumer.store([{ ...tp, nextToRead: 10 }]);
      await closed(one);
      expect(await harness.committed(group, tp)).toBe(10);
    });

    it('a partition that is not assigned takes no position', async () => {
      const topic = await harness.topic(1);
      const one = member(harness.group());
      await one.joined(topic);
      expect(() => one.consumer.store([{ topic: `${topic}-other`, partition: 0, nextToRead: 1 }])).toThrow();
    });

    it('pause and resume lose and double nothing', async () => {
      const topic = await harness.topic(2);
      const count = 2000;
      for (const partition of [0, 1]) await harness.write({ topic, partition }, numbered(count));
      const one = member(harness.group());
      await one.joined(topic);
      const both = [0, 1].map((partition) => ({ topic, partition }));
      for (let round = 0; round < 6; round += 1) {
        await one.turn();
        const paused = both.slice(0, 1 + (round % 2));
        one.consumer.pause(paused);
        const before = one.offsets(0).length;
        await one.turns(2);
        expect(one.offsets(0).length).toBe(before);
        one.consumer.resume(paused);
      }
      await one.until(() => one.records.length >= 2 * count, 'all records');
      await one.turns(2);
      const all = Array.from({ length: count }, (_, offset) => offset);
      expect([one.offsets(0), one.offsets(1)]).toEqual([all, all]);
    });

    it('facts tell that there is no commit, the commit, and where the log begins and ends', async () => {
      const topic = await harness.topic(1);
      const tp = { topic, partition: 0 };
      const one = member(harness.group());
      await one.joined(topic);
      const empty = await harness.run(one.consumer.facts(tp, FACTS_MS));
      expect(empty).toEqual({ incarnation: empty.incarnation, committed: null, logStart: 0, logEnd: 0 });
      expect(empty.incarnation).toMatch(/^[A-Za-z0-9_-]{8}$/);
      await harness.write(tp, numbered(10));
      await harness.deleteBefore(tp, 4);
      one.consumer.store([{ ...tp, nextToRead: 6 }]);
      one.consumer.commitStored();
      await one.until(() => one.commits.length > 0, 'the commit');
      const found = await harness.run(one.consumer.facts(tp, FACTS_MS));
      expect(found).toEqual({ incarnation: empty.incarnation, committed: 6, logStart: 4, logEnd: 10 });
      await one.until(() => one.consumer.cachedLogEnd(tp) === 10, 'the end that the client heard');
    });

    it('a position below the log’s start goes on at the start, and `end` at the end', async () => {
      const topic = await harness.topic(1);
      const tp = { topic, partition: 0 };
      await harness.write(tp, numbered(10));
      await harness.deleteBefore(tp, 4);
      const one = member(harness.group());
      one.startAt = 1;
      await one.joined(topic);
      await one.until(() => one.records.length >= 6, 'what is left');
      expect(one.offsets()).toEqual([4, 5, 6, 7, 8, 9]);
      one.consumer.unassign([tp]);
      one.consumer.assign([{ ...tp, nextToRead: 10 }]);
      await one.turns(10);
      await harness.write(tp, numbered(2));
      await one.until(() => one.records.length >= 8, 'what comes later');
      expect(one.offsets().slice(6)).toEqual([10, 11]);
    });

    it('tells how far it has read, anew after each assign', async () => {
      const topic = await harness.topic(1);
      const tp = { topic, partition: 0 };
      await harness.write(tp, numbered(10));
      const one = member(harness.group());
      await one.joined(topic);
      await one.until(() => one.consumer.fetchPosition(tp) === 10, 'the position at the end');
      one.consumer.unassign([tp]);
      one.consumer.assign([{ ...tp, nextToRead: 4 }]);
      one.consumer.pause([tp]);
      await one.turns(2);
      expect(one.consumer.fetchPosition(tp) ?? 4).toBe(4);
      one.consumer.resume([tp]);
      await one.until(() => one.consumer.fetchPosition(tp) === 10, 'at the end again');
    });

    it('a topic that is made anew has another incarnation, and one that is not there has none', async () => {
      const topic = await harness.topic(1);
      const one = member(harness.group());
      await one.joined(topic);
      const first = await harness.run(one.consumer.incarnation(topic, FACTS_MS));
      expect(await harness.run(one.consumer.incarnation(topic, FACTS_MS))).toBe(first);
      expect(await harness.run(one.consumer.incarnation(`${topic}-none`, FACTS_MS))).toBeUndefined();
      await harness.remake(topic, 1);
      const second = await harness.run(one.consumer.incarnation(topic, FACTS_MS));
      expect(second).toBeDefined();
      expect(second).not.toBe(first);
    });

    it('keys, values and headers arrive as they were sent', async () => {
      const topic = await harness.topic(1);
      const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      const sent: Required<Pick<NewRecord, 'key' | 'value' | 'headers'>>[] = [
        { key: null, value: null, headers: [] },
        { key: Buffer.from('k'), value: null, headers: [] },
        { key: null, value: Buffer.alloc(0), headers: [] },
        { key: Buffer.alloc(0), value: Buffer.from('v'), headers: [] },
        { key: every, value: every, headers: [['every', every]] },
        {
          key: Buffer.from('k'),
          value: Buffer.from('v'),
          headers: [
            ['twice', Buffer.from('1')],
            ['other', Buffer.alloc(0)],
            ['twice', Buffer.from('2')],
            ['', Buffer.from('no name')],
            ['__proto__', Buffer.from('no trick')],
          ],
        },
      ];
      await harness.write({ topic, partition: 0 }, sent);
      const one = member(harness.group());
      await one.joined(topic);
      await one.until(() => one.records.length >= sent.length, 'the records');
      expect(one.records.map(({ key, value, headers }) => ({ key, value, headers }))).toEqual(sent);
      expect(one.records[4]?.headerBytes ?? 261).toBe(261);
    });

    it('a second member gets a partition only when the first has answered the revoke, and then all that the first stored is committed', async () => {
      const topic = await harness.topic(2);
      const group = harness.group();
      for (const partition of [0, 1]) await harness.write({ topic, partition }, numbered(10));
      const one = member(group);
      await one.joined(topic);
      await one.until(() => one.records.length === 20, 'all records');
      one.consumer.store([0, 1].map((partition) => ({ topic, partition, nextToRead: 10 })));
      one.startAt = undefined;
      const two = member(group);
      await two.join(topic);
      const both = async (): Promise<void> => {
        await one.turn();
        await two.turn();
      };
      for (let i = 0; i < 300 && one.unanswered.length === 0; i += 1) await both();
      const revoked = one.unanswered.flatMap(({ partitions }) => partitions);
      expect([one.unanswered.map(({ kind }) => kind), revoked.length]).toEqual([['revoked'], 1]);
      for (let i = 0; i < 20; i += 1) await both();
      expect(two.events.flatMap(({ partitions }) => partitions)).toEqual([]);
      one.startAt = 0;
      one.answer();
      for (let i = 0; i < 300 && two.events.every(({ partitions }) => partitions.length === 0); i += 1) await both();
      expect(two.events.flatMap(({ partitions }) => partitions)).toEqual(revoked);
      expect(await harness.committed(group, { topic, partition: revoked[0]?.partition ?? -1 })).toBe(10);
    });
  });
}

function numbered(count: number): NewRecord[] {
  return Array.from({ length: count }, (_, i) => ({ key: Buffer.from(`k${i}`), value: Buffer.from(`v${i}`) }));
}
