import { ManualClock } from '@tailrace/kafka-kit/testing';
import { expect, test } from 'vitest';
import { Deliveries, type Delivery, type DeliveryLimits } from './deliveries.ts';
import { HeldNotifier } from './testing/held-notifier.ts';
import { AT_MS, notification } from './testing/notifications.ts';

function rig(limits: Partial<DeliveryLimits> = {}) {
  const clock = new ManualClock(AT_MS);
  const notifier = new HeldNotifier();
  const told: string[] = [];
  const deliveries = new Deliveries(
    [notifier],
    ({ notification: { key } }, outcome, attempts) =>
      told.push(`${key} ${outcome.kind} ${attempts}${outcome.kind === 'sent' ? '' : ` ${outcome.reason}`}`),
    { clock, random: () => 0, limits: { backoff: { firstMs: 1000, factor: 2, maxMs: 4000, jitter: 0.5 }, ...limits } },
  );
  return { clock, notifier, deliveries, told, settled: () => clock.advance(0) };
}

function delivery(incident: string, name = 'firing', changes: Partial<Delivery> = {}): Delivery {
  return { notification: notification({ incident, key: `${incident}/${name}` }), channel: 'oncall', attempts: 0, ...changes };
}

test('so many sends at a time, and the next when one ends', async () => {
  const { notifier, deliveries, settled, told } = rig({ sends: 2 });
  for (const incident of ['a', 'b', 'c']) expect(deliveries.deliver(delivery(incident))).toBe(true);
  expect(notifier.tries.map(({ notification: { key } }) => key)).toEqual(['a/firing', 'b/firing']);
  notifier.tries[1]?.answer({ kind: 'sent' });
  await settled();
  expect(notifier.tries.map(({ notification: { key } }) => key)).toEqual(['a/firing', 'b/firing', 'c/firing']);
  expect(told).toEqual(['b/firing sent 1']);
});

test('what is above the bound is not taken, and is taken when it is offered again later', async () => {
  const { notifier, deliveries, settled } = rig({ held: 2 });
  expect(['a', 'b', 'c'].map((incident) => deliveries.deliver(delivery(incident)))).toEqual([true, true, false]);
  expect(deliveries.deliver(delivery('a')), 'what is held may be offered again').toBe(true);
  expect(deliveries.view()).toEqual([{ channel: 'oncall', held: 2, oldestMs: AT_MS, untold: 0 }]);
  notifier.tries[0]?.answer({ kind: 'refused', reason: 'no' });
  await settled();
  expect(deliveries.deliver(delivery('c'))).toBe(true);
  expect(notifier.tries).toHaveLength(3);
});

test('waits between tries grow, count the tries of the process before, and other incidents do not wait for them', async () => {
  const { notifier, deliveries, clock, told } = rig({ sends: 1 });
  deliveries.deliver(delivery('a', 'firing', { attempts: 7 }));
  notifier.tries[0]?.answer({ kind: 'retry', reason: 'answered 500' });
  await clock.advance(0);
  deliveries.deliver(delivery('a', 'resolved'));
  deliveries.deliver(delivery('b'));
  notifier.tries[1]?.answer({ kind: 'sent' });
  await clock.advance(999);
  expect(notifier.tries).toHaveLength(2);
  await clock.advance(1);
  expect(notifier.tries).toHaveLength(3);
  notifier.tries[2]?.answer({ kind: 'retry', reason: 'answered 500' });
  await clock.advance(1999);
  expect(notifier.tries).toHaveLength(3);
  await clock.advance(1);
  notifier.tries[3]?.answer({ kind: 'sent' });
  await clock.advance(0);
  expect(told).toEqual(['a/firing retry 8 answered 500', 'b/firing sent 1', 'a/firing retry 9 answered 500', 'a/firing sent 10']);
  expect(notifier.tries[4]?.notification.key).toBe('a/resolved');
});

test('a receiver that asks for rest gets it from the whole channel, up to a bound', async () => {
  const { notifier, deliveries, clock } = rig({ retryAfterMs: 60_000 });
  deliveries.deliver(delivery('a'));
  notifier.tries[0]?.answer({ kind: 'retry', reason: 'answered 429', afterMs: 3_600_000 });
  await clock.advance(0);
  deliveries.deliver(delivery('b'));
  await clock.advance(59_999);
  expect(notifier.tries).toHaveLength(1);
  await clock.advance(1);
  expect(notifier.tries.map(({ notification: { key } }) => key).sort()).toEqual(['a/firing', 'a/firing', 'b/firing']);
});

test('a try that is not answered is aborted, said so, and made again', async () => {
  const { notifier, deliveries, clock, told } = rig({ tryMs: 10_000 });
  deliveries.deliver(delivery('a'));
  await clock.advance(9_999);
  expect(notifier.tries[0]?.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(notifier.tries[0]?.signal.aborted).toBe(true);
  expect(told).toEqual(['a/firing retry 1 no answer within 10 s']);
  await clock.advance(1000);
  expect(notifier.tries).toHaveLength(2);
});

test('gives up a day after the decision, with the last reason, but not without a try', async () => {
  const { notifier, deliveries, clock, told } = rig();
  const day = 24 * 3_600_000;
  const old = delivery('old', 'firing', {
    notification: notification({ incident: 'old', key: 'old/firing', decidedMs: AT_MS - 2 * day }),
    attempts: 3,
  });
  deliveries.deliver(old);
  notifier.tries[0]?.answer({ kind: 'retry', reason: 'answered 503' });
  await clock.advance(0);
  expect(told).toEqual(['old/firing given-up 4 answered 503']);
  deliveries.deliver(delivery('a'));
  await clock.advance(day - 1);
  notifier.tries.at(-1)?.answer({ kind: 'retry', reason: 'answered 503' });
  await clock.advance(0);
  expect(told.at(-1)).toMatch(/^a\/firing given-up \d+ /);
  expect(deliveries.view()[0]?.held).toBe(0);
});

test('forgotten deliveries are aborted and not reported, and can be taken again at once', async () => {
  const { notifier, deliveries, settled, told } = rig({ sends: 1 });
  for (const incident of ['a', 'b', 'c']) deliveries.deliver(delivery(incident));
  deliveries.forget(new Set(['a/firing', 'b/firing']));
  expect(notifier.tries[0]?.signal.aborted).toBe(true);
  await settled();
  expect(notifier.tries.map(({ notification: { key } }) => key)).toEqual(['a/firing', 'c/firing']);
  expect(deliveries.deliver(delivery('a'))).toBe(true);
  notifier.tries[1]?.answer({ kind: 'sent' });
  await settled();
  notifier.tries[2]?.answer({ kind: 'sent' });
  await settled();
  expect(told).toEqual(['c/firing sent 1', 'a/firing sent 1']);
});

test('closing lets what is on its way end within the limit, begins nothing, and reports nothing that it aborts', async () => {
  const { notifier, deliveries, clock, told } = rig({ sends: 2 });
  for (const incident of ['a', 'b', 'c']) deliveries.deliver(delivery(incident));
  const closed = deliveries.close(5000);
  expect(deliveries.deliver(delivery('d'))).toBe(false);
  notifier.tries[0]?.answer({ kind: 'sent' });
  await clock.advance(4999);
  expect([told, notifier.closed]).toEqual([['a/firing sent 1'], false]);
  await clock.advance(1);
  await closed;
  expect(notifier.tries.map(({ signal }) => signal.aborted)).toEqual([false, true]);
  expect([told, notifier.closed]).toEqual([['a/firing sent 1'], true]);
});

test('a channel that no notifier has is given up with its name, after the delivery was handed over', async () => {
  const { deliveries, told, settled } = rig();
  expect(deliveries.deliver(delivery('a', 'firing', { channel: 'gone' }))).toBe(true);
  expect(told).toEqual([]);
  await settled();
  expect(told).toEqual(['a/firing given-up 0 no notifier is called gone any more']);
});

test('a notifier that throws takes no place away and ends nothing: it is tried again', async () => {
  const { notifier, deliveries, clock, told } = rig({ sends: 1 });
  const send = notifier.send.bind(notifier);
  notifier.send = () => {
    notifier.send = send;
    throw new Error('a fault of ours');
  };
  deliveries.deliver(delivery('a'));
  await clock.advance(1000);
  notifier.tries[0]?.answer({ kind: 'sent' });
  await clock.advance(0);
  expect(told).toEqual(['a/firing retry 1 a fault of ours', 'a/firing sent 2']);
});
