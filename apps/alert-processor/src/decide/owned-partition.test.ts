import { expect, test } from 'vitest';
import { encodeMessage } from '../messages/codec.ts';
import type { Message } from '../messages/message.ts';
import type { Delivery } from '../notify/deliveries.ts';
import { T0, WEB } from '../testing/decider-bench.ts';
import { LATENESS_MS, PANE_MS, plainRule, ruleSet } from '../testing/plain-rules.ts';
import type { StateRecord } from './alert-state.ts';
import { Decider } from './decider.ts';
import { OwedSends } from './owed-sends.ts';
import { OwnedPartition } from './owned-partition.ts';

const RULE = { name: 'events-by-service', version: 'v1' };

/** One owned partition with a log that answers when the test says, and channels that take what the test lets them. */
class Bench {
  readonly written: StateRecord[][] = [];
  readonly delivered: string[] = [];
  readonly forgotten: string[] = [];
  ours = true;
  taken = 0;
  takes = true;
  ticked = 0;
  readonly owned: OwnedPartition;
  readonly #acks: (() => void)[] = [];
  #offset = 0;

  constructor(decideAt = 0, floorMs = T0) {
    const decider = new Decider({ partition: 0, ownEpoch: 0, channels: ['oncall'] });
    decider.setRules(ruleSet([plainRule()]));
    decider.setSources([{ topic: 'service-events', partition: 0 }]);
    this.owned = new OwnedPartition(
      {
        decider,
        ownership: { partition: 0, epoch: 0, owner: 'me', provenEnd: 0, ownSince: 1, lost: false },
        startAt: 0,
        decideAt,
        floorMs,
        cut: false,
      },
      {
        clockStepMs: 0,
        log: {
          write: (_owner, records) => {
            this.written.push([...records]);
            return new Promise((resolve) => this.#acks.push(resolve));
          },
          isOurs: async () => this.ours,
        },
        deliveries: {
          deliver: ({ notification }: Delivery) => {
            if (this.takes) this.delivered.push(notification.key);
            return this.takes;
          },
          giveUp: () => {},
          forget: (keys) => void this.forgotten.push(...keys),
        },
        onMessage: () => {},
        onTicked: () => {
          this.ticked += 1;
        },
        onTransition: () => {},
        onTaken: () => {
          this.taken += 1;
        },
        onFault: (what, fault) => {
          throw new Error(what, { cause: fault });
        },
      },
    );
  }

  acknowledge(): void {
    for (const resolve of this.#acks.splice(0)) resolve();
  }

  fires(): void {
    const times = { paneMs: T0, offset: 1, brokerMs: T0 + PANE_MS - 1, eventMs: T0 };
    const source = { topic: 'service-events', incarnation: 'AbCd-_12', partition: 0 };
    this.take({ kind: 'cells', cells: [{ rule: RULE, group: WEB, source, ...times, partial: ['count', 6] }] });
  }

  take(message: Message | undefined, atMs = T0): readonly unknown[] {
    const value = message === undefined ? Buffer.from('what') : encodeMessage(message);
    const offset = this.#offset++;
    return this.owned.take({ length: 1, offset: () => offset, value: () => value, timestampMs: () => atMs } as never);
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('nothing is handed over before its state is acknowledged, and no tick begins meanwhile', async () => {
  const bench = new Bench();
  bench.fires();
  const tick = bench.owned.tick(T0);
  await bench.owned.tick(T0 + 250);
  await turn();
  expect([bench.written.length, bench.delivered, bench.ticked]).toEqual([1, [], 0]);
  bench.acknowledge();
  await tick;
  expect([bench.delivered.length, bench.ticked]).toEqual([1, 1]);
});

test('nothing is decided before the log is read up to where it was', async () => {
  const bench = new Bench(2);
  bench.fires();
  await bench.owned.tick(T0);
  expect([bench.owned.ready, bench.written]).toEqual([false, []]);
  expect(bench.take(undefined)).toEqual([{ kind: 'skipped', reason: 'no-message' }]);
  void bench.owned.tick(T0);
  await turn();
  expect(bench.written).toHaveLength(1);
});

test("a kept time ahead of the brokers' clock does not keep what is read now from being covered", async () => {
  const bench = new Bench(0, T0 + 3 * 3_600_000);
  bench.fires();
  void bench.owned.tick(T0);
  await turn();
  bench.acknowledge();
  const source = { topic: 'service-events', incarnation: 'AbCd-_12', partition: 0 };
  const mark = { source, watermarkMs: T0 + 20 * PANE_MS, fromMs: 0, ruleFromMs: new Map(), unread: false, late: 0 };
  bench.take({ kind: 'marks', rules: [RULE], marks: [mark] }, T0 + 20 * PANE_MS + LATENESS_MS);
  await turn();
  void bench.owned.tick(T0 + 250);
  await turn();
  expect(bench.written.flat().map((record) => (record.kind === 'alert' ? record.state : ''))).toEqual(['firing', 'ok']);
});

test('an owner that finds another one behind it hands nothing over', async () => {
  const bench = new Bench();
  bench.fires();
  bench.ours = false;
  const tick = bench.owned.tick(T0);
  await turn();
  bench.acknowledge();
  await tick;
  expect([bench.delivered, bench.taken, bench.ticked]).toEqual([[], 1, 0]);
});

test('an owner whose log was made anew finds it out with nothing to send, and hands on what it knows for the next one to write', async () => {
  const bench = new Bench();
  bench.fires();
  const tick = bench.owned.tick(T0);
  await turn();
  bench.acknowledge();
  await tick;
  const next = { partition: 0, epoch: 7, owner: 'next', provenEnd: 0, ownSince: 1, lost: false };
  expect(bench.owned.lostRecords(next, [])).toEqual([]);
  const [key = ''] = bench.delivered;
  bench.owned.told(key, 'oncall', { kind: 'sent' }, 1, T0 + 100);
  await turn();
  bench.acknowledge();
  bench.ours = false;
  bench.owned.ownership.lost = true;
  await bench.owned.tick(T0 + 30_000);
  expect(bench.taken).toBe(0);
  await bench.owned.tick(T0 + 61_000);
  expect(bench.taken).toBe(1);
  expect(bench.owned.lostRecords(next, [])).toMatchObject([
    { kind: 'alert', state: 'firing', epoch: 7, transitions: [{ sends: [{ status: 'sent' }] }] },
    { kind: 'partition', epoch: 7, owner: 'next' },
  ]);
});

test('what a channel does not take is offered again; what it took is not, until the report comes, which is written', async () => {
  const bench = new Bench();
  bench.fires();
  bench.takes = false;
  const tick = bench.owned.tick(T0);
  await turn();
  bench.acknowledge();
  await tick;
  bench.takes = true;
  await bench.owned.tick(T0 + 250);
  await bench.owned.tick(T0 + 500);
  const [key = ''] = bench.delivered;
  expect(bench.delivered).toEqual([key]);
  expect(bench.owned.owes(key, 'oncall')).toBe(true);
  bench.owned.told(key, 'oncall', { kind: 'sent' }, 1, T0 + 600);
  await turn();
  expect(bench.owned.owes(key, 'oncall')).toBe(false);
  expect(bench.written[1]?.[0]).toMatchObject({ transitions: [{ sends: [{ status: 'sent', attempts: 1 }] }] });
});

test('given up, it forgets what it had to send, and writes nothing more', async () => {
  const bench = new Bench();
  bench.fires();
  const tick = bench.owned.tick(T0);
  await turn();
  bench.acknowledge();
  await tick;
  await bench.owned.close();
  expect(bench.forgotten).toEqual(bench.delivered);
  await bench.owned.tick(T0 + 60_000);
  expect(bench.written).toHaveLength(1);
});

test('a channel that is gone reports from within: nothing is left to be offered', () => {
  const told: string[] = [];
  const owed: OwedSends = new OwedSends({
    deliver: ({ notification: { key }, channel }) => {
      owed.settle(key, channel);
      told.push(channel);
      return true;
    },
    giveUp: () => {},
    forget: () => {},
  });
  const decider = new Decider({ partition: 0, ownEpoch: 0, channels: ['gone'] });
  decider.condition(
    {
      rule: 'tailrace.test',
      group: '[]',
      groupBy: [],
      holds: true,
      text: plainRule().text,
      evidence: { text: '', value: null, threshold: 0 },
    },
    T0,
  );
  for (const state of decider.tick(T0)) owed.add(state);
  owed.offer();
  owed.offer();
  expect([told, owed.isWaiting]).toEqual([['gone'], false]);
});
