/** Every key of a file of test cases. The reader and the table in docs/reference/rule-tests.md are made from these tables. */
import { instant } from '../rules/forms.ts';
import { SEVERITIES } from '../rules/rule.ts';
import { groupValue, ruleName } from '../rules/rule-keys.ts';
import { choice, items, list, map, namesTo, number, text } from '../rules/shapes.ts';
import { boundsOrNever, eventFields, expectedValue, flag } from './case-shapes.ts';
import { bounds, moment } from './moments.ts';

/** Partitions of the stream in a case. */
export const CASE_PARTITIONS = 3;
export const MAX_CASE_EVENTS = 1_000_000;
const MAX_CASES = 1000;
const MAX_LINES = 10_000;

/** When a case begins that does not say it. */
export const DEFAULT_START_MS = Date.UTC(2026, 0, 1);

export const eventKeys = {
  at: { shape: moment, required: true, about: 'When it happens and arrives: a time after the start.', example: '10s' },
  event: {
    shape: eventFields,
    required: true,
    about: 'The event, as the gateway takes it. Without a `timestamp` it happens when it arrives.',
    example: '{service: shop, status_code: 500}',
  },
  times: { shape: number({ min: 1, max: MAX_CASE_EVENTS }), about: 'How often it happens. Default 1.', example: '30' },
  every: { shape: moment, about: 'How long after each other, when it happens several times. Default 1s.', example: '2s' },
  delay: { shape: moment, about: 'How much later than it happens it arrives. Default 0s.', example: '90s' },
  partition: {
    shape: number({ min: 0, max: CASE_PARTITIONS - 1 }),
    about: `The partition of the stream, of ${CASE_PARTITIONS}. Absent: by \`customer_id\`, as in Kafka; without one, in turns.`,
    example: '0',
  },
} as const;

export const expectKeys = {
  rule: { shape: ruleName, required: true, about: 'The rule that fires.', example: 'errors-by-service' },
  group: {
    shape: namesTo(groupValue, { max: 8, names: /^.{1,256}$/s, what: 'fields of the rule’s group_by' }),
    about: 'The group that it fires for: all fields of the rule’s `group_by`. Absent: a rule without.',
    example: '{service: shop}',
  },
  fires_at: {
    shape: bounds,
    required: true,
    about: 'When it is told: a second after the start, or the first and the last one.',
    example: '10s..12s',
  },
  resolves_at: { shape: boundsOrNever, about: 'When it is told to be over, or `never`. Absent: not looked at.', example: '2m..3m' },
  severity: { shape: choice(SEVERITIES), about: 'With which severity.', example: 'critical' },
  value: { shape: expectedValue, about: 'What was measured when it fired: a number, or a comparison.', example: '">= 30"' },
  silenced: { shape: flag, about: 'Whether a silence keeps it from being told. Default false.', example: 'true' },
} as const;

export const caseKeys = {
  name: { shape: text({ max: 200 }), required: true, about: 'What the case shows.', example: 'a burst of errors pages once' },
  rules: {
    shape: text({ max: 1000 }),
    about: 'The rules file, from where this file stands. Absent: the rules of this file.',
    example: 'alerts.yaml',
  },
  only: {
    shape: list(ruleName, { max: 100, what: 'names of rules' }),
    about: 'The rules that take part. Absent: all of the file.',
    example: '[errors-by-service]',
  },
  start: { shape: instant, about: 'When it begins. Default 2026-01-01T00:00:00Z.', example: '2026-03-01T09:00:00Z' },
  until: {
    shape: moment,
    about: 'When it ends. Default: when the last event has left every window, and lateness has passed.',
    example: '10m',
  },
  events: {
    shape: items(map(eventKeys, 'an event'), { max: MAX_LINES, what: 'events' }),
    required: true,
    about: 'What comes in. May be empty.',
  },
  expect: {
    shape: items(map(expectKeys, 'an expected alert'), { max: MAX_LINES, what: 'expected alerts' }),
    required: true,
    about: 'All alerts that there are; `[]`: none. Of one rule and group in the order of their times.',
  },
} as const;

export const caseShape = items(map(caseKeys, 'a case'), { max: MAX_CASES, what: 'cases' });
