import { Random } from '@tailrace/kafka-kit/testing';
import { describe, expect, it } from 'vitest';
import type { RuleSet } from '../rules/rule.ts';
import { plainRule, ruleSet } from '../testing/plain-rules.ts';
import { Simulation } from './simulation.ts';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const MINUTE_MS = 60_000;
const RULE = plainRule({ condition: { operator: '>', threshold: 5 } });
const sourcesOf = (partitions: number) =>
  Array.from({ length: partitions }, (_, partition) => ({ topic: 'service-events', incarnation: 'abcdefgh', partition }));

interface Event {
  readonly atMs: number;
  readonly service: string;
  readonly timestamp: string;
}

/** Bursts of some services, with late and bogus event times. */
function randomEvents(random: Random): Event[] {
  const events: Event[] = [];
  let atMs = T0 + 5 * MINUTE_MS;
  while (atMs < T0 + 25 * MINUTE_MS) {
    atMs += random.chance(0.03) ? random.whole(30_000, 150_000) : random.whole(0, 3000);
    const timestamp = random.chance(0.05)
      ? random.pick(['2099-01-01T00:00:00Z', '1970-01-01T00:00:00Z', 'soon'])
      : new Date(atMs - random.whole(0, 20_000)).toISOString();
    events.push({ atMs, service: random.pick(['shop', 'cart', 'search']), timestamp });
  }
  return events;
}

interface Shape {
  readonly partitions?: number;
  readonly decidePartitions?: number;
  readonly laneOf?: (i: number) => number;
  readonly rules?: RuleSet;
  /** What happens beside, at a time. */
  readonly beside?: { readonly atMs: number; act(simulation: Simulation): void };
}

/** What is told, a line each, in an order that depends on nothing but time and name. */
function toldOf(
  events: readonly Event[],
  { partitions = 1, decidePartitions = 1, laneOf = () => 0, rules = ruleSet([RULE]), beside }: Shape = {},
) {
  const lines: string[] = [];
  const simulation = new Simulation({
    rules,
    sources: sourcesOf(partitions),
    startMs: T0,
    decidePartitions,
    onTold: ({ atMs, transition: { name, notification }, state }) =>
      lines.push(`${atMs - T0} ${state.rule} ${state.group} ${name} ${notification.startedMs - T0} ${notification.evidence.text}`),
  });
  const next = Array.from({ length: partitions }, () => 0);
  let isBeside = false;
  for (const [i, { atMs, service, timestamp }] of events.entries()) {
    if (beside !== undefined && !isBeside && beside.atMs <= atMs) {
      simulation.advance(beside.atMs);
      beside.act(simulation);
      isBeside = true;
    }
    simulation.advance(atMs);
    const lane = laneOf(i);
    simulation.fold(lane, next[lane] ?? 0, atMs, { service, timestamp });
    next[lane] = (next[lane] ?? 0) + 1;
  }
  simulation.advance(T0 + 35 * MINUTE_MS);
  return lines.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10) || a.localeCompare(b));
}

describe('Simulation', () => {
  it('tells the same however many partitions the stream and the partials have, and in a second run', () => {
    let told = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const events = randomEvents(new Random(seed));
      const one = toldOf(events);
      const random = new Random(seed);
      const lanes = events.map(() => random.whole(0, 11));
      told += one.length;
      expect(toldOf(events), `seed ${seed}`).toEqual(one);
      expect(toldOf(events, { decidePartitions: 7 }), `seed ${seed}`).toEqual(one);
      expect(toldOf(events, { partitions: 12, decidePartitions: 3, laneOf: (i) => lanes[i] ?? 0 }), `seed ${seed}`).toEqual(one);
    }
    expect(told).toBeGreaterThan(100);
  });

  const burst = (fromMs: number, count: number): Event[] =>
    Array.from({ length: count }, (_, i) => ({
      atMs: fromMs + i * 1000,
      service: 'shop',
      timestamp: new Date(fromMs + i * 1000).toISOString(),
    }));

  it('goes on through an edit of texts and thresholds: the episode is the same one', () => {
    const events = burst(T0 + 5 * MINUTE_MS, 120);
    const edited = plainRule({
      condition: { operator: '>', threshold: 8 },
      text: { severity: 'critical', summary: 'other words', labels: {}, response: { do: 'look', doNot: 'wait' } },
    });
    const lines = toldOf(events, { beside: { atMs: T0 + 6 * MINUTE_MS, act: (simulation) => simulation.setRules(ruleSet([edited])) } });
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^305\d{3} events-by-service \["shop"\] firing/);
    expect(lines[1]).toMatch(/ resolved /);
  });

  it('tells that the alert of a rule that is gone is over, after five minutes', () => {
    const events = burst(T0 + 5 * MINUTE_MS, 120);
    const lines = toldOf(events, { beside: { atMs: T0 + 6 * MINUTE_MS, act: (simulation) => simulation.setRules(ruleSet([])) } });
    expect(lines).toHaveLength(2);
    const [atMs, ...words] = lines[1]?.split(' ') ?? [];
    expect(words.join(' ')).toMatch(/ resolved \d+ the rule was taken out$/);
    expect(Number(atMs) / MINUTE_MS).toBeCloseTo(11, 0);
  });

  it('counts a version that is new from then on', () => {
    const events = burst(T0 + 5 * MINUTE_MS, 120);
    const other = plainRule({ version: 'v2', condition: { operator: '>', threshold: 50 } });
    const lines = toldOf(events, { beside: { atMs: T0 + 6 * MINUTE_MS, act: (simulation) => simulation.setRules(ruleSet([other])) } });
    // It fires on the first window that the new version has whole, [6 min, 7 min), so it is one episode.
    expect(lines.map((line) => line.replace(/^\d+ /, ''))).toEqual([
      'events-by-service ["shop"] firing 250000 count 6 > 5 in 1 min',
      expect.stringMatching(/resolved 250000 count \d+ .*50/),
    ]);
  });

  it('passes a quiet day in no time', () => {
    const lines: number[] = [];
    const rules = ruleSet([plainRule({ renotifyMs: 6 * 3_600_000, condition: { operator: '<', threshold: 1 } })]);
    const simulation = new Simulation({ rules, sources: sourcesOf(12), startMs: T0, onTold: ({ atMs }) => lines.push(atMs - T0) });
    simulation.fold(0, 0, T0 + 1000, { service: 'shop' });
    simulation.advance(T0 + 20 * 3_600_000);
    expect(lines.length).toBe(4);
    expect(simulation.nowMs).toBe(T0 + 20 * 3_600_000);
  });
});
