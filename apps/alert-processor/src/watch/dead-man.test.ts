import { expect, test } from 'vitest';
import type { SelfCondition } from '../decide/self-conditions.ts';
import type { CanaryState } from './canary-track.ts';
import { DeadMan, type SourceView, type WatchRule } from './dead-man.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const LATENESS_MS = 60_000;
const WELL = { forMs: 0, reason: '' };

/** A partition whose reader was heard of just now and is `behindMs` behind. */
function source(partition: number, behindMs: number, more: Partial<SourceView> = {}): SourceView {
  return { partition, watermarkMs: NOW - LATENESS_MS - behindMs, heardMs: NOW, blind: [], ...more };
}

function deadMan(sinceMs = NOW - 3_600_000): DeadMan {
  return new DeadMan({ stream: 'service-events', latenessMs: LATENESS_MS, allowedDelayMs: 30_000, sinceMs });
}

function found(conditions: readonly SelfCondition[], rule: WatchRule): SelfCondition {
  const all = conditions.filter((condition) => condition.rule === rule);
  expect(all).toHaveLength(1);
  return all[0] as SelfCondition;
}

test('while all is well each rule says so, in every look: alerts can end by it', () => {
  const conditions = deadMan().look({ sources: [source(0, 200), source(1, 29_000)], canaries: { states: [], failing: WELL } }, NOW);
  expect(conditions.map(({ rule, holds, evidence }) => [rule, holds, evidence.missing])).toEqual([
    ['tailrace.behind', false, []],
    ['tailrace.blind', false, []],
    ['tailrace.gateway', false, []],
  ]);
  for (const { text } of conditions) for (const words of Object.values(text.response)) expect(words).toMatch(/^[A-Z].{20,}\.$/);
});

test('a partition more than 30 s behind its lateness is late by name, and the alert ends at half of that', () => {
  const watch = deadMan();
  const at = (behindMs: number) => found(watch.look({ sources: [source(0, 0), source(7, behindMs)] }, NOW), 'tailrace.behind');
  expect(at(30_000).holds).toBe(false);
  expect(at(31_000)).toMatchObject({
    holds: true,
    group: '["service-events"]',
    groupBy: ['stream'],
    text: { severity: 'critical', summary: 'Alerts are late: 1 of 2 partitions of service-events are counted 31 s behind' },
    evidence: {
      text: 'counted 31 s behind, 30 s are allowed',
      value: 31,
      threshold: 30,
      missing: ['partition 7 is counted up to 31 s ago'],
    },
  });
  expect(at(16_000).holds).toBe(true);
  expect(at(14_000).holds).toBe(false);
  expect(at(16_000).holds).toBe(false);
});

test('what was heard before a process began makes no partition late, and ends no alert of before', () => {
  const watch = deadMan(NOW);
  const at = (...sources: SourceView[]) => watch.look({ sources }, NOW + 1000).find(({ rule }) => rule === 'tailrace.behind');
  const before = source(1, 3_060_000, { heardMs: 0 });
  expect(at(source(0, 0), before)).toBeUndefined();
  expect(at(source(0, 40_000), before)).toMatchObject({ holds: true, evidence: { missing: ['partition 0 is counted up to 41 s ago'] } });
  expect(at(source(0, 0), source(1, 40_000))).toMatchObject({ holds: true });
  expect(at(source(0, 0), source(1, 0))).toMatchObject({ holds: false });
  // Nobody came: that is another alert.
  expect(
    watch.look({ sources: [source(0, 0, { heardMs: NOW + 31_000 }), before] }, NOW + 31_000).map(({ rule, holds }) => [rule, holds]),
  ).toEqual([
    ['tailrace.behind', true],
    ['tailrace.blind', true],
    ['tailrace.gateway', false],
  ]);
});

test('a partition of which nobody was heard for 30 s is blind and not late', () => {
  const conditions = deadMan().look({ sources: [source(0, 0), source(1, 40_000, { heardMs: NOW - 31_000 })] }, NOW);
  expect(found(conditions, 'tailrace.behind').holds).toBe(false);
  expect(found(conditions, 'tailrace.blind')).toMatchObject({ holds: true, evidence: { missing: ['nobody reads partition 1, for 31 s'] } });
});

test('one of which nobody was ever heard is missing from when this process began to decide', () => {
  const never = { partition: 4, watermarkMs: undefined, heardMs: undefined, blind: [] };
  const blind = (sinceMs: number) => found(deadMan(sinceMs).look({ sources: [never] }, NOW), 'tailrace.blind');
  expect(blind(NOW - 29_000).holds).toBe(false);
  expect(blind(NOW - 31_000).holds).toBe(true);
});

test('time that nobody read is told for ten minutes from its end', () => {
  const gap = [NOW - 900_000, NOW - 500_000] as const;
  const conditions = deadMan().look({ sources: [source(2, 0, { blind: [gap] })] }, NOW);
  expect(found(conditions, 'tailrace.blind')).toMatchObject({
    holds: true,
    evidence: { missing: ['nobody read partition 2 from 2026-01-01T11:45:00.000Z to 2026-01-01T11:51:40.000Z'] },
  });
  expect(found(deadMan().look({ sources: [source(2, 0, { blind: [gap] })] }, NOW + 101_000), 'tailrace.blind').evidence.missing).toEqual(
    expect.not.arrayContaining([expect.stringContaining('nobody read partition')]),
  );
});

test('a canary that was accepted and not seen for 30 s makes its partition blind, whatever its reader says', () => {
  const states: CanaryState[] = [
    { partition: 0, ageMs: 1000, waitingMs: 900 },
    { partition: 1, ageMs: 40_000, waitingMs: 31_000 },
  ];
  const conditions = deadMan().look({ sources: [source(0, 0), source(1, 0)], canaries: { states, failing: WELL } }, NOW);
  expect(found(conditions, 'tailrace.blind')).toMatchObject({
    holds: true,
    text: { summary: 'Alerts do not see everything: 1 of 2 partitions of service-events are not read, or were not' },
    evidence: { missing: ['a canary that was accepted for partition 1 did not come back in 31 s'] },
  });
});

test('canaries that the gateway has not taken for 30 s are told with its reason', () => {
  const failing = { forMs: 31_000, reason: 'it answered 503: kafka_unavailable' };
  const conditions = deadMan().look({ sources: [], canaries: { states: [], failing } }, NOW);
  expect(found(conditions, 'tailrace.gateway')).toMatchObject({
    holds: true,
    text: { summary: 'The gateway has not taken all canaries for 31 s: it answered 503: kafka_unavailable' },
  });
});

test('many partitions are one alert that names some of them', () => {
  const sources = Array.from({ length: 12 }, (_, partition) => source(partition, 60_000));
  const { evidence, text } = found(deadMan().look({ sources }, NOW), 'tailrace.behind');
  expect(text.summary).toContain('12 of 12 partitions');
  expect(evidence.missing).toHaveLength(7);
  expect(evidence.missing?.at(-1)).toBe('and 6 more such partitions');
});

test('an alert about the gateway never ended after a restart without canaries', () => {
  const conditions = deadMan().look({ sources: [source(0, 0)] }, NOW);
  expect(found(conditions, 'tailrace.gateway')).toMatchObject({
    holds: false,
    group: '["service-events"]',
    evidence: { text: 'no canaries are posted any more (ALERT_CANARY_URL is not set)' },
  });
});
