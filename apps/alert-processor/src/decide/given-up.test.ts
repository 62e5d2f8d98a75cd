import { ManualClock } from '@tailrace/kafka-kit/testing';
import { expect, test } from 'vitest';
import { alertLines } from '../commands/alert-view.ts';
import { undeliveredOf } from '../commands/undelivered.ts';
import { Deliveries } from '../notify/deliveries.ts';
import { DeciderBench } from '../testing/decider-bench.ts';
import { OwedSends } from './owed-sends.ts';

test('of an alert that flaps while its receiver is down notifications vanished: they are given up, counted and listed', async () => {
  const reported: string[] = [];
  const clock = new ManualClock();
  const down = { name: 'oncall', send: async () => ({ kind: 'retry', reason: 'it is down' }) as const, close: async () => {} };
  const deliveries = new Deliveries([down], ({ notification: { key } }, { kind }) => void (kind === 'given-up' && reported.push(key)), {
    clock,
  });
  const owed = new OwedSends(deliveries);
  const bench = new DeciderBench();
  bench.mark(0);
  const look = () => {
    const before = bench.states.length;
    bench.tick({ sends: false });
    for (const state of bench.states.slice(before)) owed.add(state);
    owed.offer();
  };
  for (let incident = 1; incident <= 45; incident++) {
    bench.count(incident * 20, 6);
    look();
    bench.mark(incident * 20 + 10);
    look();
  }
  await clock.advance(0);
  const state = bench.state();
  if (state === undefined) throw new Error('there is no state');
  expect(state.transitions).toHaveLength(64);
  expect(state.givenUp).toBe(26);
  expect(new Set(reported).size).toBe(26);
  expect(reported).toHaveLength(26);
  expect(reported.every((key) => !state.transitions.some(({ notification }) => notification.key === key))).toBe(true);
  expect(deliveries.view()).toMatchObject([{ held: 64 }]);
  expect(undeliveredOf(state, bench.nowMs)).toEqual({ waiting: 64, failed: 26, unlisted: 26 });
  expect(alertLines(state, bench.nowMs).at(-1)).toBe(
    '  26 sends before these were given up (too many newer notifications of this alert wait, too)',
  );
  for (const key of state.transitions.map(({ notification }) => notification.key))
    bench.decider.delivered(key, 'oncall', { kind: 'sent' }, 1, bench.nowMs);
  bench.count(1000, 6);
  bench.tick();
  expect(bench.state()?.givenUp).toBeUndefined();
  await deliveries.close(0);
});
