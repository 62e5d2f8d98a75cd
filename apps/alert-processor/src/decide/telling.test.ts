import { expect, test } from 'vitest';
import { DeciderBench, T0, WEB } from '../testing/decider-bench.ts';
import { LATENESS_MS, PANE_MS, plainRule } from '../testing/plain-rules.ts';
import { encodeState, StateTable, stateKey } from './state-codec.ts';

const HOUR_MS = 3_600_000;

function silence(untilMs: number, fromMs = T0 - HOUR_MS) {
  return { kind: 'silence', silence: { id: 's1', rule: 'events-by-service', fromMs, untilMs, comment: '' } } as const;
}

function firingBench(rule = plainRule()): DeciderBench {
  const bench = new DeciderBench([rule]);
  bench.mark(0);
  bench.count(1, 6);
  return bench;
}

test('under a silence nobody is told; when it ends and it still fires, they are told then, and of its end', () => {
  const bench = firingBench();
  bench.decider.accept(silence(T0 + 1000), T0);
  expect(bench.tick()).toEqual([]);
  expect(bench.state()).toMatchObject({ state: 'firing', transitions: [{ name: 'firing', silencedBy: 's1', sends: [] }] });
  expect(bench.tick({ afterMs: 2000 })).toEqual(['firing@-4']);
  bench.mark(20);
  expect(bench.tick()).toEqual(['resolved@-4']);
});

test('what was told to nobody is resolved for nobody; what was told before a silence is resolved for all', () => {
  const untold = firingBench();
  untold.decider.accept(silence(T0 + HOUR_MS), T0);
  untold.tick();
  untold.mark(20);
  expect(untold.tick()).toEqual([]);
  expect(untold.state()?.state).toBe('ok');
  const told = firingBench();
  expect(told.tick()).toEqual(['firing@-4']);
  told.decider.accept(silence(T0 + HOUR_MS), T0);
  told.mark(20);
  expect(told.tick()).toEqual(['resolved@-4']);
});

test('silences are written once, hold behind a restart, can be taken back, and are deleted a day after their end', () => {
  const bench = firingBench();
  bench.decider.accept(silence(T0 + HOUR_MS), T0);
  bench.decider.accept(silence(T0 + HOUR_MS), T0);
  const written = bench.decider.takeSilences();
  expect(written).toHaveLength(1);
  bench.restart();
  bench.decider.restore([...bench.states, ...written]);
  bench.mark(0);
  bench.count(1, 6);
  expect(bench.tick()).toEqual([]);
  bench.decider.accept(silence(T0 - HOUR_MS), T0);
  expect(bench.decider.takeSilences()).toHaveLength(1);
  expect(bench.tick()).toEqual(['firing@-4']);
  expect(bench.decider.takeExpired(T0 + 30 * HOUR_MS).map(stateKey)).toEqual(['["silence","s1"]']);
});

test('it is told again while it fires, and not before the last word got through', () => {
  const bench = firingBench(plainRule({ renotifyMs: 60_000 }));
  expect(bench.tick()).toEqual(['firing@-4']);
  expect(bench.tick({ afterMs: 59_000 })).toEqual([]);
  expect(bench.tick({ afterMs: 1000, sends: false })).toEqual(['again-1@-4']);
  expect(bench.tick({ afterMs: 120_000 })).toEqual([]);
  const key = bench.notification()?.key ?? '';
  bench.decider.delivered(key, 'oncall', { kind: 'sent' }, 3, bench.nowMs);
  expect(bench.tick()).toEqual(['again-2@-4']);
});

test('a channel that could not be reached kept all others from being told again', () => {
  const bench = new DeciderBench([plainRule({ renotifyMs: 60_000 })], { channels: ['oncall', 'dead'] });
  bench.mark(0);
  bench.count(1, 6);
  // `oncall` takes everything, `dead` nothing.
  expect(bench.tick()).toEqual(['firing@-4']);
  bench.tick({ afterMs: 60_000 });
  bench.tick({ afterMs: 60_000 });
  const sends = () =>
    bench.state()?.transitions.map(({ name, sends: each }) => [name, each.map(({ channel, status }) => `${channel} ${status}`)]);
  expect(sends()).toEqual([
    ['firing', ['oncall sent', 'dead pending']],
    ['again-1', ['oncall sent']],
    ['again-2', ['oncall sent']],
  ]);
  const { key } = bench.state()?.transitions[0]?.notification ?? { key: '' };
  bench.decider.delivered(key, 'dead', { kind: 'sent' }, 9, bench.nowMs);
  bench.tick({ afterMs: 60_000 });
  expect(sends()?.at(-1)).toEqual(['again-3', ['oncall sent', 'dead pending']]);
  bench.mark(20);
  expect(bench.tick()).toContain('resolved@-4');
  expect(sends()?.at(-1)).toEqual(['resolved', ['oncall sent', 'dead pending']]);
});

test.each([
  ['nothing more of it came', () => {}],
  ['less of it came', (bench: DeciderBench) => bench.count(8, 1)],
])('a silence that was taken back told of what was over but for the proof, since %s: it is told when it fires once more', (_, goOn) => {
  const silenced = () => {
    const bench = firingBench();
    bench.decider.accept(silence(T0 + HOUR_MS), T0);
    bench.tick();
    goOn(bench);
    // Heard of all up to pane 8, and decided up to the lateness.
    bench.mark(8 - LATENESS_MS / PANE_MS);
    bench.tick();
    bench.decider.accept(silence(T0 - HOUR_MS), T0);
    expect(bench.tick()).toEqual([]);
    return bench;
  };
  const again = silenced();
  again.count(9, 6);
  expect(again.tick()).toEqual(['firing@-4']);
  const over = silenced();
  over.mark(20);
  expect(over.tick()).toEqual([]);
  expect(over.state()?.state).toBe('ok');
});

test('tries that fail are written at every doubling; the end of a delivery always, and only once', () => {
  const bench = firingBench();
  bench.tick({ sends: false });
  const key = bench.notification()?.key ?? '';
  const retry = { kind: 'retry', reason: 'it answered 503' } as const;
  const written = Array.from({ length: 9 }, (_, n) => bench.decider.delivered(key, 'oncall', retry, n + 1, T0 + n) !== undefined);
  expect(written).toEqual([true, true, false, true, false, false, false, true, false]);
  const gone = bench.decider.delivered(key, 'oncall', { kind: 'given-up', reason: '24 h' }, 10, T0);
  expect(gone?.transitions[0]?.sends).toEqual([
    { key, channel: 'oncall', status: 'given-up', attempts: 10, lastAttemptMs: T0, reason: '24 h' },
  ]);
  expect(bench.decider.delivered(key, 'oncall', { kind: 'sent' }, 11, T0)).toBeUndefined();
  expect(bench.decider.delivered('other', 'oncall', { kind: 'sent' }, 1, T0)).toBeUndefined();
});

test('an open state is written anew each day; a resolved one gets a tombstone when nothing reaches it', () => {
  const bench = firingBench();
  bench.tick();
  const before = bench.states.length;
  bench.tick({ afterMs: 23 * HOUR_MS });
  expect(bench.states.length).toBe(before);
  bench.tick({ afterMs: 2 * HOUR_MS });
  expect(bench.states.length).toBe(before + 1);
  bench.mark(20);
  expect(bench.tick()).toEqual(['resolved@-4']);
  expect(bench.decider.takeExpired(bench.nowMs)).toEqual([]);
  bench.mark(2000);
  bench.tick({ afterMs: 3 * HOUR_MS });
  expect(bench.decider.takeExpired(bench.nowMs).map(stateKey)).toEqual([`["alert","events-by-service","[\\"web\\"]"]`]);
  expect(bench.state()).toBeUndefined();
});

test('a channel that is dead for days fills neither the state nor the log', () => {
  const bench = new DeciderBench();
  bench.mark(0);
  for (let episode = 1; episode <= 100; episode++) {
    bench.count(episode * 20, 6);
    bench.tick({ sends: false });
    bench.mark(episode * 20 + 10);
    bench.tick({ sends: false });
  }
  const { transitions } = bench.state() ?? { transitions: [] };
  expect(transitions.length).toBeLessThanOrEqual(64);
  expect(encodeState(bench.state() as never).length).toBeLessThan(100_000);
  expect(transitions.at(-1)?.name).toBe('resolved');
});

test('of each key the highest epoch counts, of one epoch the last record, until its tombstone', () => {
  const table = new StateTable();
  const take = (epoch: number, watermarkMs: number) =>
    table.take(Buffer.from('k'), encodeState({ kind: 'partition', partition: 0, watermarkMs, epoch, owner: 'o' }));
  take(5, 1);
  take(5, 2);
  take(4, 3);
  expect(table.records).toMatchObject([{ watermarkMs: 2 }]);
  table.take(Buffer.from('x'), Buffer.from('{}'));
  expect(table.unreadable).toBe(1);
  table.take(Buffer.from('k'), null);
  expect(table.records).toEqual([]);
});

test('a group of text that is none of ours is told as it is', () => {
  const bench = new DeciderBench();
  bench.mark(0);
  bench.count(1, 6, { group: 'what' });
  expect(bench.tick()).toHaveLength(1);
  expect(bench.notification('events-by-service', 'what')?.group).toEqual({ service: 'what' });
  expect(bench.state('events-by-service', WEB)).toBeUndefined();
});
