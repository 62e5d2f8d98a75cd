import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { problemsOf, ruleOf, rulesOf } from '../testing/rules-text.ts';
import { readRuleFiles } from './read-rules.ts';
import { MAX_FILE_BYTES, MAX_PROBLEMS, problemLine } from './reading.ts';

const FULL = `rules:
  - name: errors-by-service
    summary: "{service} answers with errors"
    where: status_code >= 500 and not (endpoint = "/health")
    group_by: [service]
    measure: count
    window: 1m
    condition: "> 100"
    for: 2m
    min_count: 20
    severity: critical
    labels: {team: payments}
    response: {do: "Look.", do_not: "Do not restart."}
    runbook: https://example.com/errors
    renotify: 1h
    notify: [oncall]
silences:
  - {rule: errors-by-service, group: {service: shop}, from: 2026-01-01T00:00:00Z, until: 2026-01-01T02:00:00Z, comment: "planned work"}
`;

describe('a rules file', () => {
  it('is read with all its keys', () => {
    const { rules, silences, reachMs } = rulesOf(FULL);
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
    const { where, groupOf, measure } = ruleOf(FULL);
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
    const wrong = FULL.replace('group_by', 'grup_by')
      .replace('status_code >= 500', 'status_cod >= 500')
      .replace('"> 100"', '"about 100"')
      .replace('critical', 'critcal')
      .replace(', do_not: "Do not restart."', '');
    expect(problemsOf(wrong)).toEqual([
      expect.stringMatching(/^rules\.yaml:4:12: There is no field "status_cod": name one of timestamp, /),
      expect.stringMatching(/^rules\.yaml:5:5: There is no key "grup_by" in a rule \(did you mean group_by\?\): it has name, /),
      'rules.yaml:8:17: This must be one of > >= < <= and a number, like "> 100", and "about 100" is not.',
      'rules.yaml:11:15: This must be one of info, warning, error, critical (did you mean critical?), and "critcal" is not.',
      expect.stringMatching(/^rules\.yaml:13:15: The key do_not is missing: /),
    ]);
  });
});

/** A rule with these lines in place of its own. */
function withLines(lines: string): string {
  return `rules:
  - name: a
    summary: many
    measure: count
    window: 1m
    condition: "> 5"
    response: {do: look, do_not: wait}
${lines}`;
}

/** The rule, with one of its lines changed. */
function changed(from: string, to: string): string {
  const text = withLines('');
  if (!text.includes(from)) throw new Error(`there is no ${from}`);
  return text.replace(from, to);
}

describe('keys that do not go together', () => {
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
    [
      changed('measure: count', 'measure: {sum: bytes, mean: bytes}'),
      '4:14: A measure is one of count, absence, or a map with one of ratio, sum, mean, percentile, distinct, rate.',
    ],
    [
      changed('measure: count', 'measure: {ration: {of: x}}'),
      '4:14: A measure is one of count, absence, or a map with one of ratio, sum, mean, percentile, distinct, rate (did you mean ratio?).',
    ],
    [changed('measure: count', 'measure: coutn'), '4:14: This must be one of count, absence (did you mean count?), and "coutn" is not.'],
    [
      changed('summary: many', 'summary: "{service} and {region}"\n    group_by: [service]'),
      '3:14: {region} is replaced only where group_by has it: it has service.',
    ],
    [withLines('    group_by: [service, host, service]\n'), '8:15: service stands twice in group_by.'],
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
      withLines('silences:\n  - {rule: b, from: 2026-01-01T00:00:00Z, until: 2026-01-02T00:00:00Z, comment: x}\n'),
      '9:12: There is no rule b.',
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

describe('text that is no rules file', () => {
  it.each([
    ['', '1:1: The file is empty: it has at least rules: [].'],
    ['# nothing\n', '1:1: The file is empty: it has at least rules: [].'],
    ['5', '1:1: This must be a map with the keys of a rules file, and 5 is not.'],
    ['rules: 5', '1:8: This must be a list of at most 1000 rules, and 5 is not.'],
    ['rules: [5]', '1:9: This must be a map with the keys of a rule, and 5 is not.'],
    ['rule: []', '1:1: There is no key "rule" in a rules file (did you mean rules?): it has rules, silences, cases.'],
    ['rules: []\nrules: []', '2:1: This key stands twice in one map: keep one of them.'],
    [withLines('    labels: {a: x, b: y, a: z}\n'), '8:26: This key stands twice in one map: keep one of them.'],
    ['rules: []\n---\nrules: []', '2:1: One YAML document makes a rules file: put what stands behind --- into a file of its own.'],
    ['rules: !!js/function x', '1:8: This is not YAML: Unresolved tag: tag:yaml.org,2002:js/function.'],
    ['rules: &a [*a]', '1:12: An alias is not taken here: write out what *a stands for.'],
    ['rules: *nobody', '1:8: An alias is not taken here: write out what *nobody stands for.'],
    [changed('"> 5"', '> 5'), '6:18: Put the condition in quotes, like "> 100".'],
    [`rules: [] #${'x'.repeat(MAX_FILE_BYTES)}`, '1:1: The most that a rules file may have are 512 KiB.'],
  ])('%#', (text, problem) => {
    expect(problemsOf(text)).toEqual([`rules.yaml:${problem}`]);
  });

  it('is refused when it is nested without end', () => {
    expect(problemsOf('['.repeat(100_000)).join()).toContain('This is nested too deeply.');
  });

  it('with very many keys is refused as quickly as it is read, and the first problems are told', () => {
    const startedMs = performance.now();
    const problems = problemsOf(`{${Array.from({ length: 15_000 }, (_, i) => `k${i}: 1`).join(', ')}}`);
    expect(problems).toHaveLength(MAX_PROBLEMS + 1);
    expect(problems.at(-1)).toMatch(/^rules\.yaml:1:\d+: There is more wrong than these 100 problems: mend them first\.$/);
    expect(performance.now() - startedMs).toBeLessThan(5000);
  });

  const half = MAX_FILE_BYTES / 2 - 1024;
  it.each([
    ['aliases behind a long list', `x: [${'1,'.repeat(60_000)}1]\ny: &a {name: a}\nrules:\n${'- *a\n'.repeat(1000)}`],
    ['aliases of aliases', `${Array.from({ length: 30 }, (_, i) => `x${i + 1}: &x${i + 1} [*x${i}, *x${i}]`).join('\n')}\nrules: *x30\n`],
    ['commas', `[${','.repeat(2 * half)}`],
    ['tags', '! '.repeat(half)],
    ['anchors', '&a '.repeat(half / 2)],
    ['ends of lists', ']'.repeat(2 * half)],
    ['ends of lists, as many as are parsed', ']'.repeat(140_000)],
    ['commas, as many as are parsed', `[${','.repeat(140_000)}`],
    ['tags, as many as are parsed', '! '.repeat(70_000)],
    ['quotes', '"'.repeat(2 * half)],
    ['comments', '#\n'.repeat(half)],
  ])('of %s neither blocks for long nor tells of each', (_, text) => {
    const startedMs = performance.now();
    const problems = problemsOf(text);
    expect(performance.now() - startedMs).toBeLessThan(4000);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.length).toBeLessThanOrEqual(MAX_PROBLEMS + 1);
  });
});

it('a star that begins no alias is a text as any other', () => {
  const text = changed('look', '"*look"').replace('name: a', 'name: a # *b').replace('do_not: wait', "do_not: '*wait'");
  expect(ruleOf(text).text.response).toEqual({ do: '*look', doNot: '*wait' });
  expect(problemsOf(`${withLines('    summary: |\n      *bold* words\n')}`)).toEqual([expect.stringContaining('This key stands twice')]);
});

it('files belong together: names are unique, and a silence may name a rule of another file', () => {
  const silence = 'silences:\n  - {rule: a, from: 2026-01-01T00:00:00Z, until: 2026-01-02T00:00:00Z, comment: x}\n';
  const options = { paneMs: 10_000, latenessMs: 0 };
  const read = readRuleFiles(
    [
      { file: 'a', text: silence },
      { file: 'b', text: withLines('') },
    ],
    options,
  );
  expect('rules' in read && read.rules.silences).toHaveLength(1);
  const twice = readRuleFiles(
    [
      { file: 'a', text: withLines('') },
      { file: 'b', text: withLines('') },
    ],
    options,
  );
  expect('problems' in twice && twice.problems.map(problemLine)).toEqual(['b:2:11: There is another rule named a: names are unique.']);
});

it('the reach is the longest look-back of a rule', () => {
  expect(rulesOf('rules: []').reachMs).toBe(0);
  expect(ruleOf(changed('measure: count\n    window: 1m\n    condition: "> 5"', 'measure: absence\n    window: 1m')).rememberMs).toBe(
    3_600_000,
  );
  expect(rulesOf(changed('measure: count\n    window: 1m\n    condition: "> 5"', 'measure: absence\n    window: 1m')).reachMs).toBe(
    3_660_000,
  );
  expect(rulesOf(changed('measure: count', 'measure: {rate: {against: 2h}}\n    for: 3m')).reachMs).toBe(7_200_000 + 240_000);
});

it('of any text rules are read, or problems told with a place in it, and nothing is thrown', () => {
  const damaged = fc
    .tuple(
      fc.nat({ max: FULL.length }),
      fc.nat({ max: 20 }),
      fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), fc.constantFrom('{', '[', '- ', ': ', '&a ', '*a', '"', '\n', '#', '|', '>')),
    )
    .map(([at, cut, put]) => FULL.slice(0, at) + put + FULL.slice(at + cut));
  fc.assert(
    fc.property(fc.oneof(damaged, fc.string({ unit: 'binary' })), (text) => {
      const read = readRuleFiles([{ file: 'rules.yaml', text }], { paneMs: 10_000, latenessMs: 0 });
      if ('rules' in read) return;
      expect(read.problems.length).toBeGreaterThan(0);
      const lines = text.split('\n').length + 1;
      for (const { line, column, sentence } of read.problems) {
        expect([line >= 1 && line <= lines, column >= 1, sentence]).toEqual([true, true, expect.stringMatching(/^[^\n]+[.)]$/)]);
      }
    }),
    { numRuns: 1000 },
  );
});
