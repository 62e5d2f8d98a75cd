import { expect, it } from 'vitest';
import type { AlertState, Transition } from '../decide/alert-state.ts';
import { Firings } from './firings.ts';

const DAY_MS = 86_400_000;
const T0 = Date.parse('2026-01-01T00:00:00Z');

function told(name: string, group: string, episode: number, atMs: number, silencedBy?: string) {
  const notification = {
    incident: `${group}/${episode}`,
    status: name === 'resolved' ? 'resolved' : 'firing',
    evidence: { text: `${name} ${episode}` },
  };
  const transition = { name, notification, silencedBy } as unknown as Transition;
  return { atMs, transition, state: { rule: 'errors', group } as AlertState };
}

it('sums up by day and by group, with the longest one', () => {
  const firings = new Firings(['errors', 'quiet'], T0);
  firings.take(told('firing', '["a"]', 1, T0 + 1000));
  firings.take(told('again-1', '["a"]', 1, T0 + 2000));
  firings.take(told('resolved', '["a"]', 1, T0 + 5000));
  firings.take(told('firing', '["b"]', 2, T0 + DAY_MS));
  firings.take(told('resolved', '["b"]', 2, T0 + DAY_MS + 1000));
  firings.take(told('firing', '["a"]', 3, T0 + DAY_MS + 2000, 'planned'));
  firings.take(told('firing', '["a"]', 4, T0 + DAY_MS + 3000));
  const [errors, quiet] = firings.close(T0 + DAY_MS + 4000);
  expect(errors).toMatchObject({
    fired: 3,
    again: 1,
    silenced: 1,
    firingAtStart: 0,
    firingAtEnd: 1,
    firstMs: T0 + 1000,
    lastMs: T0 + DAY_MS + 3000,
    longest: { group: '["a"]', firedMs: T0 + 1000, overMs: T0 + 5000 },
    days: [
      { day: '2026-01-01', fired: 1 },
      { day: '2026-01-02', fired: 2 },
    ],
    groups: [
      { group: '["a"]', fired: 2 },
      { group: '["b"]', fired: 1 },
    ],
    leftOut: 0,
  });
  expect(quiet).toMatchObject({ rule: 'quiet', fired: 0, firstMs: undefined });
});

it('counts what fired before the window only as that, also where it ends inside', () => {
  const firings = new Firings(['errors'], T0);
  firings.take(told('firing', '["a"]', 1, T0 - 1000));
  firings.take(told('firing', '["b"]', 2, T0 - 900));
  firings.take(told('firing', '["c"]', 3, T0 - 800));
  firings.take(told('resolved', '["c"]', 3, T0 - 700));
  firings.take(told('resolved', '["a"]', 1, T0 + 1000));
  expect(firings.close(T0 + 5000)[0]).toMatchObject({ fired: 0, firingAtStart: 2, firingAtEnd: 1, alerts: [] });
});

it('keeps a bounded number of alerts and groups, and counts the others', () => {
  const firings = new Firings(['errors'], T0);
  for (let i = 0; i < 12_000; i++) firings.take(told('firing', `["g${i}"]`, i, T0 + i));
  const [errors] = firings.close(T0 + DAY_MS);
  expect(errors).toMatchObject({ fired: 12_000, otherGroups: 2000, leftOut: 11_000, firingAtEnd: 12_000 });
  expect(errors?.alerts).toHaveLength(1000);
});
