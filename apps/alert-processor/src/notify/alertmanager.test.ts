import { expect, test } from 'vitest';
import { incidentKey } from '../decide/subject.ts';
import { alertmanagerMessage } from './alertmanager.ts';
import { notification } from './testing/notifications.ts';

const HOLD_MS = 7 * 86_400_000;

test('what is posted', () => {
  const told = notification({
    group: { 'attributes.tier': 'gold', '1st': 'x', region: null, service: ' ' },
    labels: { severity: 'mine', team: 'a' },
  });
  expect(JSON.parse(alertmanagerMessage(told, HOLD_MS).body)).toEqual([
    {
      labels: {
        alertname: 'errors-by-service',
        severity: 'critical',
        attributes_tier: 'gold',
        _1st: 'x',
        team: 'a',
        tailrace_group: '0123456789abcdef',
      },
      annotations: expect.objectContaining({
        summary: 'shop answers with errors',
        do: 'Look at the last deployment of the service.',
        do_not: 'Do not restart the database.',
        evidence: 'count 153 > 100 in 1 min',
        complete_up_to: '2025-12-31T23:59:00.000Z',
        not_seen: 'partition 3 is 60 s behind',
        incident: told.incident,
      }),
      startsAt: '2025-12-31T23:59:00.000Z',
      endsAt: '2026-01-08T00:00:00.000Z',
      generatorURL: 'https://runbooks.example.com/errors',
    },
  ]);
  const [resolved] = JSON.parse(alertmanagerMessage({ ...told, status: 'resolved' }, HOLD_MS).body);
  expect(resolved.endsAt).toBe('2026-01-01T00:00:00.000Z');
});

test('an incident starts at the same time in every send, also where that lies ahead, and none ends before it starts', () => {
  for (const startedMs of [Date.UTC(2025, 11, 31), Date.UTC(2027, 0, 1)]) {
    const posted = [{}, { decidedMs: Date.UTC(2026, 0, 2) }, { status: 'resolved' as const, decidedMs: Date.UTC(2026, 0, 3) }].map(
      (changes) => JSON.parse(alertmanagerMessage(notification({ startedMs, ...changes }), HOLD_MS).body)[0],
    );
    expect(new Set(posted.map(({ startsAt }) => startsAt))).toEqual(new Set([new Date(startedMs).toISOString()]));
    for (const { startsAt, endsAt } of posted) expect(endsAt >= startsAt).toBe(true);
  }
});

test('groups that look the same as labels are alerts of their own, and firing and resolved of one have the same labels', () => {
  const labelsOf = (group: Readonly<Record<string, string | null>>, status: 'firing' | 'resolved', startMs = HOLD_MS): string => {
    const incident = incidentKey('errors', JSON.stringify(Object.values(group)), startMs);
    return JSON.stringify(JSON.parse(alertmanagerMessage(notification({ incident, group, status }), HOLD_MS).body)[0].labels);
  };
  const groups = [
    ...[null, '', ' ', 'a b', 'a\nb'].map((service) => ({ service })),
    { 'attributes.a-b': 'x', 'attributes.a_b': 'y' },
    { 'attributes.a-b': 'z', 'attributes.a_b': 'y' },
  ];
  expect(new Set(groups.map((group) => labelsOf(group, 'firing'))).size).toBe(groups.length);
  for (const group of groups) expect(labelsOf(group, 'resolved')).toBe(labelsOf(group, 'firing'));
});
