import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { testCommand } from './commands/test-command.ts';
import { updateDocs } from './config.ts';
import { EXAMPLE, EXPRESSIONS, rulesPage } from './docs.ts';
import { exampleResults, FIRST, LATE, ruleTestsPage, SILENT } from './docs-rule-tests.ts';
import { measureKeys, ruleKeys, silenceKeys } from './rules/rule-keys.ts';
import { rulesSchema, SCHEMA_FILE } from './rules/rules-schema.ts';
import { parseExpression } from './rules/where/parse.ts';
import { caseKeys, eventKeys, expectKeys } from './simulate/case-keys.ts';
import { problemsOf, rulesOf } from './testing/rules-text.ts';

const at = (path: string) => new URL(`../../../${path}`, import.meta.url);

it.each([
  ['the page about rules', 'docs/reference/rules.md', rulesPage],
  ['the page about test cases', 'docs/reference/rule-tests.md', ruleTestsPage],
  ['the schema of rules', `docs/reference/${SCHEMA_FILE}`, () => `${JSON.stringify(rulesSchema(), undefined, 2)}\n`],
])('%s is what the tables say (UPDATE_DOCS=1 writes it)', (_what, path, make) => {
  if (updateDocs) writeFileSync(at(path), make());
  expect(readFileSync(at(path), 'utf8')).toBe(make());
});

const fits = new Ajv({ strictTypes: false, allowUnionTypes: true, formats: { 'date-time': true } }).compile(rulesSchema());

/** A rule with one of its keys as in a table's example. */
function ruleWith(key: string, example: string): string {
  const lines: Record<string, string> = {
    name: 'a',
    summary: 'many',
    measure: 'count',
    window: '1m',
    condition: '"> 5"',
    response: '{do: look, do_not: wait}',
  };
  if (key === 'summary') lines.group_by = '[service]';
  if (example.startsWith('{ratio')) lines.condition = '"> 0.5"';
  if (key === 'remember') lines.measure = 'absence';
  if (key === 'remember') delete lines.condition;
  lines[key] = example;
  return `rules:\n  - ${Object.entries(lines)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n    ')}\n`;
}

describe('what the page shows', () => {
  it('the whole example is read', () => {
    expect(rulesOf(EXAMPLE).rules).toHaveLength(1);
    expect(fits(parse(EXAMPLE))).toBe(true);
  });

  it.each(Object.entries(ruleKeys).map(([key, { example }]) => [key, example]))('the example of %s: %s', (key, example = '') => {
    const text = ruleWith(key, example);
    expect(problemsOf(text)).toEqual([]);
    expect(fits(parse(text)), JSON.stringify(fits.errors)).toBe(true);
  });

  it.each(Object.entries(measureKeys).map(([key, { example }]) => [key, example]))('the example of the measure %s: %s', (_key, example) => {
    const text = ruleWith('measure', example);
    expect(problemsOf(text)).toEqual([]);
    expect(fits(parse(text)), JSON.stringify(fits.errors)).toBe(true);
  });

  it('the examples of a silence', () => {
    const keys = Object.entries(silenceKeys).map(([key, { example }]) => `${key}: ${example}`);
    const rule = ruleWith('group_by', '[service]').replace('name: a', 'name: errors-by-service');
    const text = `${rule}silences:\n  - ${keys.join('\n    ')}\n`;
    expect(problemsOf(text)).toEqual([]);
    expect(fits(parse(text)), JSON.stringify(fits.errors)).toBe(true);
  });

  it.each(EXPRESSIONS)('%s: %s', (_form, example) => {
    expect(parseExpression(example)).toHaveProperty('expression');
  });
});

describe('the schema', () => {
  it.each([
    ['an unknown key', ruleWith('nane', 'x')],
    ['a name with capitals', ruleWith('name', 'A')],
    ['a window without unit', ruleWith('window', '60')],
    ['a window of nothing', ruleWith('window', '{}')],
    ['a condition without number', ruleWith('condition', '"> many"')],
    ['an unknown measure', ruleWith('measure', '{median: latency_ms}')],
    ['two measures', ruleWith('measure', '{sum: bytes, mean: bytes}')],
    ['half a response', ruleWith('response', '{do: look}')],
    ['an unknown severity', ruleWith('severity', 'bad')],
    ['a label that is no text', ruleWith('labels', '{a: 5}')],
    ['a bad name of a label', ruleWith('labels', '{a-b: x}')],
    ['a fraction of an event', ruleWith('min_count', '1.5')],
    ['no list of rules', 'rules: 5'],
  ])('refuses %s, as the reader does', (_what, text) => {
    expect(problemsOf(text)).not.toEqual([]);
    expect(fits(parse(text))).toBe(false);
  });
});

it('the rules to begin with make sense, and name the schema for editors', () => {
  const text = readFileSync(at('examples/rules/default.yaml'), 'utf8');
  const { rules, reachMs } = rulesOf(text);
  expect(rules.map(({ name }) => name)).toEqual(['error-burst', 'error-ratio', 'slow-answers', 'silent-service', 'traffic-fell']);
  // Kept for so long by the topic as it is declared, with the lateness and a day in hand.
  expect(reachMs).toBeLessThanOrEqual(23 * 3_600_000);
  expect(fits(parse(text)), JSON.stringify(fits.errors)).toBe(true);
  expect(text.split('\n')[0]).toBe(`# yaml-language-server: $schema=../../docs/reference/${SCHEMA_FILE}`);
});

describe('the page about test cases', () => {
  it.each([
    ['the first cases', FIRST],
    ['what is absent', SILENT],
    ['what comes late', LATE],
  ])('shows cases that are good, and fit the schema: %s', (_what, text) => {
    expect(fits(parse(text)), JSON.stringify(fits.errors)).toBe(true);
    expect(exampleResults(text).flatMap(({ differences }) => differences)).toEqual([]);
  });

  it.each([
    ['a case', caseKeys],
    ['an event', eventKeys],
    ['an expected alert', expectKeys],
  ] as const)('has examples in its tables that are read: %s', (what, keys) => {
    const lines = Object.entries(keys).flatMap(([key, { example = '[]' }]) => (key === 'rules' ? [] : [`${key}: ${example}`]));
    const map = (of: readonly string[]) => `{${of.join(', ')}}`;
    const text = {
      'a case': `cases: [${map(lines)}]`,
      'an event': `cases: [{name: a, expect: [], events: [${map(lines)}]}]`,
      'an expected alert': `cases: [{name: a, events: [], expect: [${map(lines)}]}]`,
    }[what];
    expect(() => exampleResults(text)).not.toThrow();
  });
});

it('the test cases of the rules to begin with are good, and fit the schema', async () => {
  expect(fits(parse(readFileSync(at('examples/rules/default.test.yaml'), 'utf8'))), JSON.stringify(fits.errors)).toBe(true);
  let out = '';
  const ports = {
    out: (text: string) => {
      out += text;
    },
    note: (text: string) => {
      out += text;
    },
    nowMs: Date.now,
    environment: {},
    signal: new AbortController().signal,
  };
  expect(await testCommand([fileURLToPath(at('examples/rules/default.test.yaml'))], {}, ports), out).toBe(0);
});
