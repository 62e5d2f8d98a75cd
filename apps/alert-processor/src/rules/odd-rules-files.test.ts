import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changed, FULL_RULES, problemsOf, ruleOf, rulesOf, withLines } from '../testing/rules-text.ts';
import { readRuleFiles } from './read-rules.ts';
import { MAX_FILE_BYTES, MAX_PROBLEMS, problemLine } from './reading.ts';
import { IN_QUOTES } from './unquoted-conditions.ts';

/** Of the processor, and not of the clock: others may be using it as well. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe('text that is no rules file', () => {
  it.each([
    ['', '1:1: The file is empty: write rules, or "rules: []" for none.'],
    ['# nothing\n', '1:1: The file is empty: write rules, or "rules: []" for none.'],
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
    [changed('"> 5"', '> 5'), `6:16: ${IN_QUOTES}`],
    [changed('"> 5"', '>= 5 # five'), `6:16: ${IN_QUOTES}`],
    [changed('"> 5"', '>5'), `6:16: ${IN_QUOTES}`],
    ['rules: [{name: a, measure: count, condition: > 5, window: 1m}]', `1:46: ${IN_QUOTES}`],
    [`rules: [] #${'x'.repeat(MAX_FILE_BYTES)}`, '1:1: The most that a rules file may have are 512 KiB.'],
  ])('%#', (text, problem) => {
    expect(problemsOf(text)).toEqual([`rules.yaml:${problem}`]);
  });

  it('is refused when it is nested without end', () => {
    expect(problemsOf('['.repeat(100_000)).join()).toContain('This is nested too deeply.');
  });

  it('with very many keys is refused as quickly as it is read, and the first problems are told', () => {
    const before = process.cpuUsage();
    const problems = problemsOf(`{${Array.from({ length: 15_000 }, (_, i) => `k${i}: 1`).join(', ')}}`);
    expect(problems).toHaveLength(MAX_PROBLEMS + 1);
    expect(problems.at(-1)).toMatch(/^rules\.yaml:1:\d+: There is more wrong than these 100 problems: mend them first\.$/);
    expect(cpuMsSince(before)).toBeLessThan(5000);
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
    const before = process.cpuUsage();
    const problems = problemsOf(text);
    expect(cpuMsSince(before)).toBeLessThan(4000);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.length).toBeLessThanOrEqual(MAX_PROBLEMS + 1);
  });
});

describe('text that is no YAML', () => {
  const NEIGHBOURS = 'all keys of one map begin in the same column, and so do the "-" of one list.';
  const another = withLines('').slice('rules:\n'.length).replace('name: a', 'name: b');
  const KEY = 'A key is followed by a colon, a blank and its value, like window: 1m.';
  const DEEPER = `This line is indented deeper than the one before it, whose key has its value already: ${NEIGHBOURS}`;
  it.each([
    ['a key that stands further left', changed('    measure', '   measure'), `4:4: The indentation is wrong here: ${NEIGHBOURS}`],
    ['a key that stands further right', changed('    measure', '      measure'), `4:7: ${DEEPER}`],
    ['an item without its dash', withLines(another.replace('- ', '')), `8:3: The indentation is wrong here: ${NEIGHBOURS}`],
    ['a dash that stands further right', withLines(another.replace('  -', '   -')), `8:4: The indentation is wrong here: ${NEIGHBOURS}`],
    ['the first dash further left', changed('  - name', ' - name'), `3:5: ${DEEPER}`],
    ['a tab', changed('    measure', '\tmeasure'), '4:1: Indent with blanks: YAML takes no tabs there.'],
    ['a second colon', changed('many', 'many: errors'), '3:14: This has a second colon: a text with ": " in it stands in quotes.'],
    ['no colon', changed('window: 1m', 'window 1m'), `5:5: ${KEY}`],
    ['no blank behind it', changed('window: 1m', 'window:1m'), `5:5: ${KEY}`],
    ['no closing quote', changed('"> 5"', '"> 5'), '6:16: This text in quotes does not end: put the closing quote behind it.'],
    ['no closing brace', changed('wait}', 'wait'), '7:15: This map or list in brackets is not closed: put its } or ] behind it.'],
    ['no comma', changed('look, do', 'look do'), '7:20: A comma is missing in this map or list in brackets, or it is not closed.'],
    [
      'a text that begins with a sign',
      changed('many', '@many'),
      '3:14: A text that begins so stands in quotes: YAML gives its first character a meaning of its own.',
    ],
    [
      'a text that begins with a brace',
      changed('many', '{service} fails'),
      '3:24: Nothing may follow what ends before this (a text in quotes, or a map or list in brackets): put the whole value in quotes.',
    ],
    [
      'an escape that there is not',
      changed('many', '"a \\d"'),
      '3:17: In double quotes \\ begins an escape: write \\\\, or put the text in single quotes.',
    ],
  ])('%s is one problem, with its place and what to do', (_what, text, problem) => {
    expect(problemsOf(text)).toEqual([`rules.yaml:${problem}`]);
  });
});

it('a condition without quotes hides nothing of what else is wrong, before and behind it and in other rules', () => {
  const two = `${changed('"> 5"', '> 5').replace('1m', '30')}${another(`    for: 2 minutes\n    renotify: 30s\n`)}`;
  expect(problemsOf(two)).toEqual([
    expect.stringMatching(/^rules\.yaml:5:13: This must be a length of time /),
    `rules.yaml:6:16: ${IN_QUOTES}`,
    `rules.yaml:12:16: ${IN_QUOTES}`,
    expect.stringMatching(/^rules\.yaml:14:10: This must be a length of time .* and "2 minutes" is not\.$/),
    expect.stringMatching(/^rules\.yaml:15:15: This must be a length of time .* and "30s" is not\.$/),
  ]);
  function another(lines: string): string {
    return withLines(lines).replace('rules:\n', '').replace('name: a', 'name: b').replace('"> 5"', '> 5');
  }
});

it('a condition may be a folded text, and a text may speak of one', () => {
  expect(ruleOf(changed('"> 5"', '>\n      > 5')).condition).toEqual({ operator: '>', threshold: 5 });
  expect(ruleOf(changed('summary: many', 'summary: |\n      condition: > 5')).text.summary).toBe('condition: > 5\n');
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
      fc.nat({ max: FULL_RULES.length }),
      fc.nat({ max: 20 }),
      fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), fc.constantFrom('{', '[', '- ', ': ', '&a ', '*a', '"', '\n', '#', '|', '>')),
    )
    .map(([at, cut, put]) => FULL_RULES.slice(0, at) + put + FULL_RULES.slice(at + cut));
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
