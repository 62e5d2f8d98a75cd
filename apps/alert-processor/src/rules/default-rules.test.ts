import { readFileSync } from 'node:fs';
import { generateEvents } from '@tailrace/events';
import { expect, it } from 'vitest';
import { Simulation } from '../simulate/simulation.ts';
import { rulesOf } from '../testing/rules-text.ts';
import type { EventObject } from './rule.ts';

const RULES = rulesOf(readFileSync(new URL('../../../../examples/rules/default.yaml', import.meta.url), 'utf8'));
const START_MS = Date.UTC(2026, 2, 1, 9);
const MINUTE_MS = 60_000;
const PARTITIONS = 4;

interface Fired {
  readonly rule: string;
  readonly group: string;
  readonly atMs: number;
}

/** What the rules to begin with tell of this traffic: each firing, in its order. */
function firings(traffic: Iterable<readonly [atMs: number, event: EventObject]>, endMs: number): readonly Fired[] {
  const fired: Fired[] = [];
  const sources = Array.from({ length: PARTITIONS }, (_, partition) => ({ topic: 't', incarnation: 'i', partition }));
  const simulation = new Simulation({
    rules: RULES,
    sources,
    startMs: START_MS,
    tickMs: 1000,
    onTold: ({ atMs, transition, state }) => {
      if (transition.notification.status === 'firing') fired.push({ rule: state.rule, group: state.group, atMs });
    },
  });
  let n = 0;
  for (const [atMs, event] of traffic) {
    simulation.advance(atMs);
    simulation.fold(n % PARTITIONS, Math.floor(n / PARTITIONS), Math.floor(atMs), event);
    n++;
  }
  simulation.advance(endMs);
  return fired;
}

const of = (fired: readonly Fired[], rule: string) => fired.filter((each) => each.rule === rule).map(({ group }) => group);

it('find the bursts of the sample traffic within seconds, and a service that falls silent, and nothing else', () => {
  const perSecond = 50;
  const silentFromMs = START_MS + 8 * MINUTE_MS;
  const endMs = START_MS + 15 * MINUTE_MS;
  /** Services of which a ten-second stretch had more than 30 % errors, and when first. Without a burst they have 0.4 %. */
  const bursts = new Map<string, number>();
  function* traffic(): Generator<readonly [number, EventObject]> {
    let nowMs = START_MS;
    const events = generateEvents({ seed: 7, nowMs: () => nowMs });
    let counts = new Map<string, { n: number; errors: number }>();
    for (let i = 0; nowMs < endMs; i++, nowMs = START_MS + (i * 1000) / perSecond) {
      const event = events.next().value;
      if (i % (10 * perSecond) === 0) counts = new Map();
      const count = counts.get(event.service) ?? { n: 0, errors: 0 };
      counts.set(event.service, count);
      count.n++;
      if ((event.status_code ?? 0) >= 500) count.errors++;
      if (count.n >= 30 && count.errors > 0.3 * count.n && !bursts.has(`["${event.service}"]`)) bursts.set(`["${event.service}"]`, nowMs);
      if (event.service !== 'payments' || nowMs < silentFromMs) yield [nowMs, event as EventObject];
    }
  }
  const fired = firings(traffic(), endMs);
  expect(bursts.size).toBeGreaterThan(1);
  expect(of(fired, 'error-burst').toSorted()).toEqual([...bursts.keys()].sort());
  expect(of(fired, 'error-ratio').toSorted()).toEqual([...bursts.keys()].sort());
  for (const { rule, group, atMs } of fired) if (rule === 'error-burst') expect(atMs - (bursts.get(group) ?? 0)).toBeLessThan(20_000);
  expect(of(fired, 'silent-service')).toEqual(['["payments"]']);
  expect(of(fired, 'traffic-fell')).toEqual([]);
  expect(of(fired, 'slow-answers')).toEqual([]);
});

it('find traffic that fell to less than half, also where nothing is left, but not for a service with few events', () => {
  const fellAtMs = START_MS + 90 * MINUTE_MS;
  const endMs = START_MS + 120 * MINUTE_MS;
  const services = [
    { name: 'steady', everyMs: 1000, after: 1 },
    { name: 'halved', everyMs: 1000, after: 3 },
    { name: 'gone', everyMs: 1000, after: Number.POSITIVE_INFINITY },
    { name: 'small', everyMs: 30_000, after: 3 },
  ];
  function* traffic(): Generator<readonly [number, EventObject]> {
    for (let atMs = START_MS; atMs < endMs; atMs += 1000)
      for (const { name, everyMs, after } of services)
        if ((atMs - START_MS) % (atMs < fellAtMs ? everyMs : everyMs * after) === 0)
          yield [atMs, { timestamp: new Date(atMs).toISOString(), service: name }];
  }
  const fired = firings(traffic(), endMs);
  expect(of(fired, 'traffic-fell').toSorted()).toEqual(['["gone"]', '["halved"]']);
  expect(of(fired, 'silent-service')).toEqual(['["gone"]']);
});
