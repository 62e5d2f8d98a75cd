import { describe, expect, it } from 'vitest';
import { readRules } from './read-rules.ts';
import { problemLine } from './reading.ts';
import type { Rule, RuleSet } from './rule.ts';

const OPTIONS = { file: 'rules.yaml', paneMs: 10_000, latenessMs: 60_000 };

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

function rulesOf(text: string, options = OPTIONS): RuleSet {
  const read = readRules(text, options);
  if ('problems' in read) throw new Error(read.problems.map(problemLine).join('\n'));
  return read.rules;
}

function onlyRule(text: string, options = OPTIONS): Rule {
  const [rule] = rulesOf(text, options).rules;
  if (rule === undefined) throw new Error('no rule');
  return rule;
}

function problemsOf(text: string): readonly string[] {
  const read = readRules(text, OPTIONS);
  return 'problems' in read ? read.problems.map(problemLine) : [];
}

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
    const { where, groupOf, measure } = onlyRule(FULL);
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
