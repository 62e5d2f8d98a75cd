import { describe, expect, it } from 'vitest';
import { changed, FULL_RULES, problemsOf, ruleOf, rulesOf, withLines } from '../testing/rules-text.ts';

/** Each of them is read by the test of the page. */
const FORMS =
  'count, absence, {ratio: {of: status_code >= 500}}, {sum: bytes}, {mean: latency_ms}, {percentile: {field: latency_ms, p: 95}}, {distinct: {field: user_id, limit: 1000}}, {rate: {against: 1h}}';

describe('a rules file', () => {
  it('is read with all its keys', () => {
    const { rules, silences, reachMs } = rulesOf(FULL_RULES);
    expect(rules).toHaveLength(1);
    expect(rules[0]).toMatchObject({
      name: 'errors-by-service',
      groupBy: ['service'],
      window: { kind: 'sliding', ms: 60_000 },
      condition: { operator: '>', threshold: 100 },
      forMs: 120_000,
      minCount: 20,
      renotifyMs: 3_600_000,
      maxGroups: 10_000,
      notify: ['oncall'],
      text: {
        severity: 'critical',
        summary: '{service} answers with errors',
        labels: { team: 'payments' },
        response: { do: 'Look.', doNot: 'Do not restart.' },
        runbook: 'https://example.com/errors',
      },
    });
    expect(reachMs).toBe(180_000);
    expect(silences).toEqual([
      {
        id: expect.stringMatching(/^file-[0-9a-f]{12}$/),
        rule: 'errors-by-service',
        group: '["shop"]',
        fromMs: Date.UTC(2026, 0, 1),
        untilMs: Date.UTC(2026, 0, 1, 2),
        comment: 'planned work',
      },
    ]);
  });

  it('folds the events of its where by its measure', () => {
    const { where, groupOf, measure } = ruleOf(FULL_RULES);
    expect(where({ service: 'shop', status_code: 503 })).toBe(true);
    expect(where({ service: 'shop', status_code: 503, endpoint: '/health' })).toBe(false);
    expect(where({ service: 'shop' })).toBe(false);
    expect(groupOf({ service: 'shop' })).toBe('["shop"]');
    expect(groupOf({})).toBe('[null]');
    const pane = measure.open();
    pane.fold({});
    pane.fold({});
    expect(pane.partial()).toEqual(['count', 2]);
  });

  it('tells all problems at once, each with its place and what would fit', () => {
    const wrong = FULL_RULES.replace('group_by', 'grup_by')
      .replace('status_code >= 500', 'status_cod >= 500')
      .replace('"> 100"', '"about 100"')
      .replace('critical', 'critcal')
      .replace(', do_not: "Do not restart."', '');
    expect(problemsOf(wrong)).toEqual([
      expect.stringMatching(/^rules\.yaml:4:12: There is no field "status_cod" \(did you mean status_code\?\): name one of timestamp, /),
      expect.stringMatching(/^rules\.yaml:5:5: There is no key "grup_by" in a rule \(did you mean group_by\?\): it has name, /),
      'rules.yaml:8:17: This must be one of > >= < <= and a number, like "> 100", and "about 100" is not.',
      'rules.yaml:11:15: This must be one of info, warning, error, critical (did you mean critical?), and "critcal" is not.',
      expect.stringMatching(/^rules\.yaml:13:15: The key do_not is missing: /),
    ]);
  });
});

describe('keys that do not go together', () => {
  it('are told, also where other keys of the rule do not fit', () => {
    const text = changed('1m', '61s').replace('"> 5"', '"about 5"').replace('count', '{ratio: {of: sevice = "a"}}');
    expect(problemsOf(`${text}    min_count: 0\n    remember: 5m\n`)).toEqual([
      expect.stringMatching(/^rules\.yaml:4:27: There is no field "sevice" \(did you mean service\?\)/),
      'rules.yaml:5:13: A window is a whole number of panes of 10000 ms (ALERT_PANE_MS).',
      expect.stringMatching(/^rules\.yaml:6:17: This must be one of > >= < <= and a number/),
      expect.stringMatching(/^rules\.yaml:8:16: This must be a whole number/),
    ]);
  });

  it.each([
    [changed('1m', '61s'), '5:13: A window is a whole number of panes of 10000 ms (ALERT_PANE_MS).'],
    [changed('1m', '{tumbling: 5}'), '5:24: This must be a length of time from 1s to 1d, like 30s, 5m, 1h or 1d, and 5 is not.'],
    [changed('1m', '2d'), '5:13: This must be a length of time from 1s to 1d, like 30s, 5m, 1h or 1d, and "2d" is not.'],
    [changed('measure: count', 'measure: absence'), '6:16: A rule with absence fires when nothing came: it has no condition.'],
    [changed('    condition: "> 5"\n', ''), '2:5: The key condition is missing: when the rule fires, like "> 100".'],
    [withLines('    remember: 1h\n'), '8:15: Only a rule with absence has remember.'],
    [
      changed('measure: count', 'measure: {rate: {against: 30s}}'),
      '4:31: This must be a length of time from 1m to 7d, like 30s, 5m, 1h or 1d, and "30s" is not.',
    ],
    [
      changed('measure: count\n    window: 1m', 'measure: {rate: {against: 5m}}\n    window: 10m'),
      '4:31: The distance of a comparison is at least the window: else the two share events.',
    ],
    [
      changed('measure: count', 'measure: {rate: {against: 65s}}'),
      '4:31: The distance of a comparison is a whole number of panes of 10000 ms (ALERT_PANE_MS).',
    ],
    [
      changed('measure: count', 'measure: {distinct: {field: host, limit: 4}}'),
      '6:16: It is counted exactly up to the limit of 4 only: the condition can not be about more.',
    ],
    [
      changed('measure: count', 'measure: {sum: service}'),
      '4:20: This must be a field that is a number (latency_ms, bytes, status_code), or attributes.NAME, and service is not.',
    ],
    [changed('measure: count', 'measure: {sum: bytes, mean: bytes}'), `4:14: A measure is one of ${FORMS}.`],
    [changed('measure: count', 'measure: {ration: {of: x}}'), `4:14: A measure is one of ${FORMS} (did you mean ratio?).`],
    [changed('measure: count', 'measure: coutn'), `4:14: A measure is one of ${FORMS}, and "coutn" is not (did you mean count?).`],
    [changed('measure: count', 'measure: meen'), `4:14: A measure is one of ${FORMS}, and "meen" is not (did you mean mean?).`],
    [changed('measure: count', 'measure: sum'), `4:14: A measure is one of ${FORMS}, and "sum" is not (did you mean {sum: bytes}?).`],
    [
      changed('measure: count', 'measure: p99'),
      `4:14: A measure is one of ${FORMS}, and "p99" is not (did you mean {percentile: {field: latency_ms, p: 99}}?).`,
    ],
    [changed('measure: count', 'measure: 5'), `4:14: A measure is one of ${FORMS}.`],
    [
      changed('summary: many', 'summary: "{service} and {region}"\n    group_by: [service]'),
      '3:14: {region} is replaced only where group_by has it: it has service.',
    ],
    [withLines('    group_by: [service, host, service]\n'), '8:15: service stands twice in group_by.'],
    [
      changed('response: {do: look, do_not: wait}', 'response:\n    do: look\n    do_not: wait'),
      '7:14: This must be a map with the keys of response, and nothing is there: they stand in the lines below it, further right.',
    ],
    [
      changed('  - name', '    name'),
      '2:5: This must be a list of at most 1000 rules, and a map is not: begin each of its items with "- ".',
    ],
    [
      changed('measure: count', 'measure: {percentile: {field: latency_ms, p: 0.95}}'),
      '4:50: A percentile is named in percent: p: 95 where 0.95 is meant as a part of 1.',
    ],
    [
      changed('measure: count', 'measure: {percentile: {field: latency_ms, p: 100}}'),
      '4:50: This must be a number from 1 to 99.99, and 100 is not.',
    ],
    [withLines('    min_count: 0\n'), '8:16: This must be a whole number from 1 to 1000000000, and 0 is not.'],
    [
      withLines('    runbook: example.com\n'),
      '8:14: This must be an address that starts with https:// or http://, and "example.com" is not.',
    ],
    [withLines('    labels: {a-b: x}\n'), '8:14: A name here fits ^[a-zA-Z_][a-zA-Z0-9_]{0,63}$: this one does not.'],
    [withLines('    labels: {a: 5}\n'), '8:17: This must be a text of 0 to 256 characters, and 5 is not.'],
    [withLines('    notify:\n'), '8:12: This must be a list of at most 32 names of notifiers, and nothing is there.'],
    [
      withLines('    where: >\n      status_code >= 500 and\n      level = "eror"\n'),
      '8:12: level is one of trace, debug, info, warn, error, fatal, and never "eror".',
    ],
    [
      withLines('    where: \'status_code >= 500 and level = "eror"\'\n'),
      '8:36: level is one of trace, debug, info, warn, error, fatal, and never "eror".',
    ],
    [withLines(withLines('').slice('rules:\n'.length)), '8:11: There is another rule named a: names are unique.'],
    [
      withLines('silences:\n  - {rule: other, from: 2026-01-01T00:00:00Z, until: 2026-01-02T00:00:00Z, comment: x}\n'),
      '9:12: There is no rule other.',
    ],
    [
      withLines('silences:\n  - {rule: b, from: 2026-01-01T00:00:00Z, until: 2026-01-02T00:00:00Z, comment: x}\n'),
      '9:12: There is no rule b (did you mean a?).',
    ],
    [
      withLines('silences:\n  - {from: 2026-01-02T00:00:00Z, until: 2026-01-02T00:00:00Z, comment: x}\n'),
      '9:41: A silence ends after it begins: until must be later than from.',
    ],
    [
      withLines('silences:\n  - {from: 2026-01-02, until: 2026-01-02T00:00:00Z, comment: x}\n'),
      '9:12: A time is written with its zone, like 2026-03-01T09:00:00Z: "2026-01-02" is not.',
    ],
    [
      withLines('silences:\n  - {rule: a, group: {service: x}, from: 2026-01-01T00:00:00Z, until: 2026-01-02T00:00:00Z, comment: x}\n'),
      '9:22: The rule a groups by nothing: name exactly these.',
    ],
    [
      withLines('silences:\n  - {group: {service: x}, from: 2026-01-01T00:00:00Z, until: 2026-01-02T00:00:00Z, comment: x}\n'),
      '9:13: A group is one of a rule: name the rule.',
    ],
  ])('%#', (text, problem) => {
    expect(problemsOf(text)).toEqual([`rules.yaml:${problem}`]);
  });
});
