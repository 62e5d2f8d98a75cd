import { describe, expect, it } from 'vitest';
import { OPTIONS, ruleOf } from '../testing/rules-text.ts';

const TEXT = `rules:
  - name: errors
    summary: "{service} fails"
    where: status_code >= 500 and service != "a"
    group_by: [service]
    measure: {percentile: {field: latency_ms, p: 95}}
    window: 1m
    condition: "> 100"
    for: 2m
    severity: error
    response: {do: look, do_not: wait}
`;

function changed(from: string, to: string): string {
  if (!TEXT.includes(from)) throw new Error(`there is no ${from}`);
  return ruleOf(TEXT.replace(from, to)).version;
}

describe('a version', () => {
  const { version } = ruleOf(TEXT);

  it.each([
    ['where', 'status_code >= 500', 'status_code >= 501'],
    ['group_by', 'group_by: [service]', 'group_by: [service, host]'],
    ['the order of group_by', 'group_by: [service]', 'group_by: [host, service]'],
    ['the measure', '{percentile: {field: latency_ms, p: 95}}', '{mean: latency_ms}'],
    ['the field of the measure', 'field: latency_ms', 'field: bytes'],
  ])('is another one when %s changes', (_what, from, to) => {
    expect(changed(from, to)).not.toBe(version);
  });

  it('is another one when panes have another length', () => {
    expect(ruleOf(TEXT, { ...OPTIONS, paneMs: 20_000 }).version).not.toBe(version);
  });

  it('is another one when a hit of a ratio, or the limit of distinct, is', () => {
    const ratio = (of: string) =>
      ruleOf(TEXT.replace('{percentile: {field: latency_ms, p: 95}}', `{ratio: {of: ${of}}}`).replace('"> 100"', '"> 0.1"')).version;
    expect(ratio('level = "error"')).not.toBe(ratio('level = "fatal"'));
    const distinct = (limit: number) => changed('{percentile: {field: latency_ms, p: 95}}', `{distinct: {field: host, limit: ${limit}}}`);
    expect(distinct(100)).not.toBe(distinct(200));
  });

  it.each([
    ['the name', 'name: errors', 'name: other'],
    ['a text', 'look', 'look closely'],
    ['the severity', 'severity: error', 'severity: critical'],
    ['the threshold', '> 100', '> 200'],
    ['the window', 'window: 1m', 'window: {tumbling: 5m}'],
    ['for', 'for: 2m', 'for: 4m'],
    ['the percentile, which is told from the same panes', 'p: 95', 'p: 99'],
    ['the form of the expression', 'status_code >= 500 and service != "a"', '( (status_code>=5e2)  and (service != "\\u0061"))'],
    ['the order of keys', '    window: 1m\n    condition: "> 100"\n', '    condition: "> 100"\n    window: 1m\n'],
    ['the form of the YAML', 'group_by: [service]', 'group_by: # by service\n      - "service"'],
  ])('is the same when %s changes', (_what, from, to) => {
    expect(changed(from, to)).toBe(version);
  });
});
