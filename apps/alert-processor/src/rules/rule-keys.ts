/** Every key of a rules file. Reader, JSON Schema and docs/reference/rules.md are made from these tables. */

import { MAX_DISTINCT_LIMIT } from '../measures/distinct.ts';
import { didYouMean } from './did-you-mean.ts';
import { condition, duration, expression, field, instant, numberField, webAddress } from './forms.ts';
import { SEVERITIES } from './rule.ts';
import { choice, items, list, map, namesTo, number, parts, type Shape, shown, text, textOf, unread } from './shapes.ts';
import { variant } from './variant.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** What a rule that names none gets. */
export const DEFAULTS = { severity: 'warning', maxGroups: 10_000, rememberMs: 60 * MINUTE_MS, distinctLimit: 1000 } as const;

export const MAX_RULES = 1000;
const GROUP_NAME = /^.{1,256}$/s;

export const ruleName = text({ max: 64, pattern: /^[a-z0-9][a-z0-9-]*$/, words: 'a name of at most 64 small letters, digits and dashes' });

/** Where it is known which notifiers there are, one of them. */
const notifierName: Shape<string> = {
  ...ruleName,
  read: (node, reading) => {
    const name = ruleName.read(node, reading);
    const { notifiers } = reading;
    if (name !== undefined && notifiers !== undefined && !notifiers.includes(name))
      reading.problem(
        node,
        `There is no notifier ${name}${didYouMean(name, notifiers)}: there ${notifiers.length === 0 ? 'are none (ALERT_NOTIFIERS)' : `${notifiers.length === 1 ? 'is' : 'are'} ${notifiers.join(', ')}`}.`,
      );
    return name;
  },
};

const windowLength = duration(SECOND_MS, DAY_MS);

const percentRange = number({ min: 1, max: 99.99, whole: false });

/** Where others write 0.99. */
const percent: Shape<number> = {
  ...percentRange,
  read: (node, reading) => {
    const { value } = node as { readonly value?: unknown };
    if (typeof value !== 'number' || value <= 0 || value >= 1) return percentRange.read(node, reading);
    reading.problem(
      node,
      `A percentile is named in percent: p: ${Number((value * 100).toPrecision(12))} where ${value} is meant as a part of 1.`,
    );
    return undefined;
  },
};

/** Measures that need more than their name. */
export const measureKeys = {
  ratio: {
    shape: map({ of: { shape: expression, required: true, about: 'Which of the rule’s events count as hits.' } }, 'ratio'),
    about: 'The part of the events for which `of` holds, from 0 to 1.',
    example: '{ratio: {of: status_code >= 500}}',
  },
  sum: { shape: numberField, about: 'The sum of a field.', example: '{sum: bytes}' },
  mean: { shape: numberField, about: 'The mean of a field, over the events that have a number there.', example: '{mean: latency_ms}' },
  percentile: {
    shape: map(
      {
        field: { shape: numberField, required: true, about: 'The field.' },
        p: {
          shape: percent,
          required: true,
          about: 'Which percentile: 95 is the one that 95 % are below.',
        },
      },
      'percentile',
    ),
    about: 'A percentile of a field, over the events that have a number there; at most 1 % off.',
    example: '{percentile: {field: latency_ms, p: 95}}',
  },
  distinct: {
    shape: map(
      {
        field: { shape: field, required: true, about: 'The field.' },
        limit: {
          shape: number({ min: 1, max: MAX_DISTINCT_LIMIT }),
          about: `Counted exactly up to here; above, it is only said to be more. Default ${DEFAULTS.distinctLimit}.`,
        },
      },
      'distinct',
    ),
    about: 'How many different values a field has.',
    example: '{distinct: {field: user_id, limit: 1000}}',
  },
  rate: {
    shape: map(
      { against: { shape: duration(MINUTE_MS, 7 * DAY_MS), required: true, about: 'How much earlier the other window ends.' } },
      'rate',
    ),
    about: 'The count divided by the count of the same group so much earlier.',
    example: '{rate: {against: 1h}}',
  },
} as const;

const PLAIN_MEASURES = ['count', 'absence'] as const;
const MEASURE_FORMS = [...PLAIN_MEASURES, ...Object.values(measureKeys).map(({ example }) => example)].join(', ');

/** The form that is meant by a word which is no measure: `p99`, or the name of a measure that needs more than its name. */
function meantMeasure(word: string): string {
  const [, p] = /^p([1-9][0-9]?(?:\.[0-9]{1,2})?)$/.exec(word) ?? [];
  if (p !== undefined) return ` (did you mean {percentile: {field: latency_ms, p: ${p}}}?)`;
  const names = Object.keys(measureKeys) as (keyof typeof measureKeys)[];
  const named = names.find((name) => name === word);
  return named === undefined ? didYouMean(word, [...PLAIN_MEASURES, ...names]) : ` (did you mean ${measureKeys[named].example}?)`;
}

const plainMeasure: Shape<(typeof PLAIN_MEASURES)[number]> = {
  ...choice(PLAIN_MEASURES),
  read: (node, reading) => {
    const word = textOf(node);
    const plain = PLAIN_MEASURES.find((each) => each === word);
    if (plain === undefined)
      reading.problem(
        node,
        `A measure is one of ${MEASURE_FORMS}${word === undefined ? '' : `, and ${shown(word)} is not${meantMeasure(word)}`}.`,
      );
    return plain;
  },
};

export const measureForm = variant(plainMeasure, measureKeys, 'A measure');

export const windowForm = variant(
  windowLength,
  { tumbling: { shape: windowLength, about: 'Windows side by side instead of one that slides.', example: '{tumbling: 5m}' } },
  'A window',
);

export const ruleKeys = {
  name: {
    shape: ruleName,
    required: true,
    about: 'The name of the rule, in alerts and in silences. No two rules have the same.',
    example: 'errors-by-service',
  },
  summary: {
    shape: text({ max: 500 }),
    required: true,
    about: 'One sentence that says what is wrong; `{field}` of `group_by` is replaced by its value.',
    example: '"{service} answers with errors"',
  },
  where: { shape: expression, about: 'Which events belong to the rule. Absent: all.', example: 'status_code >= 500' },
  group_by: {
    shape: list(field, { max: 8, what: 'fields' }),
    about: 'One alert for each different value of these fields. Absent: one for all.',
    example: '[service]',
  },
  measure: { shape: measureForm, required: true, about: 'What is measured over the window.', example: 'count' },
  window: { shape: windowForm, required: true, about: 'How long a time is measured: whole panes (`ALERT_PANE_MS`).', example: '1m' },
  condition: { shape: condition, about: 'When it fires. Required, but not with `absence`.', example: '"> 100"' },
  for: {
    shape: duration(SECOND_MS, DAY_MS),
    about: 'For how long the condition must hold before it fires. Absent: at once.',
    example: '2m',
  },
  min_count: {
    shape: number({ min: 1, max: 1_000_000_000 }),
    about: 'With fewer events in the window it does not fire; of a `rate`, with fewer in both of its windows.',
    example: '20',
  },
  remember: {
    shape: duration(MINUTE_MS, 7 * DAY_MS),
    about: 'Only with `absence`: for how long after its last event a group is waited for. Default 1h.',
    example: '1h',
  },
  max_groups: {
    shape: number({ min: 1, max: 100_000 }),
    about:
      'Groups above this number, in one partition and pane, are not counted; of all that a window reaches twice as many are watched, those seen last. An alert says when there are more. Default 10000.',
    example: '5000',
  },
  severity: { shape: choice(SEVERITIES), about: 'How bad it is. Default warning.', example: 'critical' },
  labels: {
    shape: namesTo(text({ min: 0, max: 256 }), { max: 32, names: /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/, what: 'labels' }),
    about: 'Names and texts that go with the alert, for routing.',
    example: '{team: payments}',
  },
  response: {
    shape: map(
      {
        do: { shape: text({ max: 2000 }), required: true, about: 'What to do first.' },
        do_not: { shape: text({ max: 2000 }), required: true, about: 'What not to do: the tempting thing that makes it worse.' },
      },
      'response',
    ),
    required: true,
    about: 'What whoever is paged should do, and should not.',
    example: '{do: "Look at the latest deployment.", do_not: "Do not restart all at once."}',
  },
  runbook: { shape: webAddress, about: 'The address of a page that tells more.', example: 'https://example.com/runbooks/errors' },
  renotify: {
    shape: duration(MINUTE_MS, 30 * DAY_MS),
    about: 'Told again after so long while it goes on. Absent: told once.',
    example: '1h',
  },
  notify: {
    shape: list(notifierName, { max: 32, what: 'names of notifiers' }),
    about: 'Who is told, by the names of notifiers. Absent: all.',
    example: '[oncall]',
  },
} as const;

/** Null stands for a group whose event has no such field. */
export const groupValue: Shape<string | { readonly none: true }> = {
  words: 'a text, or null for events without the field',
  schema: { type: ['string', 'null'], maxLength: 256 },
  read: (node, reading) => {
    const { value } = node as { readonly value?: unknown };
    if (value === null) return { none: true };
    return text({ min: 0, max: 256, pattern: GROUP_NAME, words: 'a text of at most 256 characters (numbers in quotes), or null' }).read(
      node,
      reading,
    );
  },
};

export const silenceKeys = {
  rule: { shape: ruleName, about: 'The rule that is kept quiet. Absent: all rules.', example: 'errors-by-service' },
  group: {
    shape: namesTo(groupValue, { max: 8, names: GROUP_NAME, what: 'fields of the rule’s group_by' }),
    about: 'The one group that is kept quiet: all fields of the rule’s `group_by`. Absent: all groups.',
    example: '{service: shop}',
  },
  from: { shape: instant, required: true, about: 'From when on.', example: '2026-01-01T00:00:00Z' },
  until: { shape: instant, required: true, about: 'Until when.', example: '2026-01-01T02:00:00Z' },
  comment: { shape: text({ max: 500 }), required: true, about: 'Why: people will ask.', example: '"planned work"' },
} as const;

export const fileKeys = {
  rules: { shape: items(parts(ruleKeys, 'a rule'), { max: MAX_RULES, what: 'rules' }), about: 'The rules.' },
  silences: { shape: items(map(silenceKeys, 'a silence'), { max: MAX_RULES, what: 'silences' }), about: 'Times in which nobody is told.' },
  cases: { shape: unread, about: 'Test cases of the rules, for `tailrace rules test`.' },
} as const;
