import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { alertingCommand } from './program.ts';

const RULES = `rules:
  - name: errors
    summary: many errors
    where: status_code >= 500
    group_by: [service, region]
    measure: count
    window: 1m
    condition: "> 100"
    for: 2m
    min_count: 20
    response: {do: look, do_not: wait}
  - name: silent
    summary: nothing
    measure: absence
    window: 5m
    response: {do: look, do_not: wait}
  - name: traffic
    summary: fewer
    measure: {rate: {against: 1h}}
    window: {tumbling: 5m}
    condition: "< 0.5"
    response: {do: look, do_not: wait}
`;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rules-check-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly told: string;
}

function run(...argv: readonly string[]): Promise<Ran> {
  return runWith({}, ...argv);
}

async function runWith(environment: Readonly<Record<string, string>>, ...argv: readonly string[]): Promise<Ran> {
  let out = '';
  let told = '';
  const code = await alertingCommand(argv, {
    out: (text) => {
      out += text;
    },
    note: (text) => {
      told += text;
    },
    nowMs: () => 0,
    environment,
    signal: new AbortController().signal,
  });
  return { code, out, told };
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('rules check', () => {
  it('says in one line what each rule means', async () => {
    const { code, out } = await run('rules', 'check', file('rules.yaml', RULES));
    expect(out.replaceAll(/version [0-9a-f]{16}/g, 'version V')).toBe(
      [
        'errors: fires when count > 100 in 1m for 2m on end with at least 20 events, for each service and region; looks back 3m; version V',
        'silent: fires when nothing came for 5m and something did in the 1h before; looks back 65m; version V',
        'traffic: fires when count < 0.5 times that of 1h before in 5m (tumbling); looks back 65m; version V',
        '3 rules, 0 silences; they look back 65m at most.\n',
      ].join('\n'),
    );
    expect(code).toBe(0);
  });

  it('tells every problem of every file with its place; exit code 1', async () => {
    const good = file('a.yaml', RULES);
    const bad = file('b.yaml', RULES.replace('name: errors', 'nane: errors').replace('> 100', 'over 100'));
    const { code, out } = await run('rules', 'check', good, bad);
    expect(code).toBe(1);
    expect(out).toContain(`${bad}:2:5: There is no key "nane" in a rule (did you mean name?)`);
    expect(out).toContain(`${bad}:8:17: This must be one of > >= < <= and a number`);
    expect(out).toContain(`${bad}:12:11: There is another rule named silent: names are unique.`);
    expect(out).toMatch(/5 problems: the alert processor refuses these files\.\n$/);
  });

  describe('with notifiers', () => {
    const TELLING = RULES.replace('min_count: 20', 'notify: [oncall, oncal]');
    const NOTIFIERS =
      'notifiers:\n  - {name: oncall, kind: webhook, url: "https://oncall.example.com/"}\n  - {name: mail, kind: slack, url: 5}\n';

    it('tells every name that there is not, with its place, and what is wrong with the notifiers', async () => {
      const [rules, notifiers] = [file('rules.yaml', TELLING), file('notifiers.yml', NOTIFIERS)];
      expect(await run('rules', 'check', rules, '--notifiers', notifiers)).toMatchObject({
        code: 1,
        out: [
          `${notifiers}:3:36: This must be a URL that begins with https:// or http://, and 5 is not.`,
          `${rules}:10:22: There is no notifier oncal (did you mean oncall?): there are oncall, mail.`,
          '2 problems: the alert processor refuses these files.\n',
        ].join('\n'),
      });
      const { out } = await run('rules', 'check', '--json', rules, '--notifiers', notifiers);
      expect(JSON.parse(out)).toMatchObject({
        problems: [
          { file: notifiers, line: 3 },
          { file: rules, line: 10, column: 22 },
        ],
      });
    });

    it('counts them where all is well; without the option it says that names were not looked at, where there are any', async () => {
      const [rules, notifiers] = [
        file('rules.yaml', TELLING.replace(', oncal]', ']')),
        file('notifiers.yml', NOTIFIERS.replace('url: 5', 'url: "https://chat.example.com/"')),
      ];
      expect(await run('rules', 'check', rules, '--notifiers', notifiers)).toMatchObject({
        code: 0,
        out: expect.stringMatching(/\n3 rules, 0 silences, 2 notifiers; they look back 65m at most\.\n$/),
      });
      expect((await run('rules', 'check', rules)).out).toMatch(
        /at most\. Whether there are the notifiers that notify names was not looked at: add --notifiers FILE, or set ALERT_NOTIFIERS\.\n$/,
      );
      expect((await run('rules', 'check', file('plain.yaml', RULES))).out).toMatch(/at most\.\n$/);
    });

    it('without the option those of ALERT_NOTIFIERS are looked at, and its words name it', async () => {
      const [rules, notifiers] = [file('rules.yaml', TELLING), file('notifiers.yml', NOTIFIERS)];
      const told = await run('rules', 'check', rules, '--notifiers', notifiers);
      expect(await runWith({ ALERT_NOTIFIERS: notifiers }, 'rules', 'check', rules)).toEqual(told);
      expect(await runWith({ ALERT_NOTIFIERS: '' }, 'rules', 'check', rules)).toEqual(await run('rules', 'check', rules));
      expect(await runWith({ ALERT_NOTIFIERS: '/no/such.yml' }, 'rules', 'check', rules)).toMatchObject({
        code: 2,
        told: 'ALERT_NOTIFIERS names /no/such.yml, which can not be read (ENOENT).\n',
      });
    });

    it('of a notifiers file that is no YAML no name is missed', async () => {
      const { out } = await run('rules', 'check', file('rules.yaml', TELLING), '--notifiers', file('notifiers.yml', 'notifiers: ['));
      expect(out).toMatch(/^[^\n]*notifiers\.yml:1:\d+: [^\n]+\n1 problem: the alert processor refuses these files\.\n$/);
    });

    it('one that can not be read is wrong use', async () => {
      expect(await run('rules', 'check', file('rules.yaml', TELLING), '--notifiers', '/no/such.yml')).toMatchObject({
        code: 2,
        told: '--notifiers names /no/such.yml, which can not be read (ENOENT).\n',
      });
    });
  });

  it('reads the files of a folder together', async () => {
    file('a.yaml', RULES);
    file('b.yml', RULES.replaceAll('name: ', 'name: more-'));
    expect((await run('rules', 'check', folder)).out).toContain('6 rules, 0 silences');
  });

  it('does not wait for a FIFO, and says of what is no file what it is', async () => {
    const fifo = join(folder, 'fifo.yaml');
    execFileSync('mkfifo', [fifo]);
    expect(await run('rules', 'check', fifo)).toMatchObject({
      code: 2,
      told: expect.stringContaining(`${fifo} can not be read: it is no regular file.`),
    });
    expect(await run('rules', 'test', fifo)).toMatchObject({ code: 2, told: expect.stringContaining('it is no regular file') });
    rmSync(fifo);
    mkdirSync(join(folder, 'sub.yaml'));
    const { code, told } = await run('rules', 'check', folder);
    expect({ code, told }).toEqual({
      code: 2,
      told: expect.stringContaining(`${join(folder, 'sub.yaml')} can not be read: it is a folder.`),
    });
    expect(told).not.toContain('EISDIR');
  });

  it('prints one JSON object with --json', async () => {
    const { out } = await run('rules', 'check', '--json', file('rules.yaml', RULES));
    expect(JSON.parse(out)).toMatchObject({
      problems: [],
      faults: [],
      reachMs: 3_900_000,
      rules: [{ name: 'errors', reachMs: 180_000, window: { kind: 'sliding', ms: 60_000 }, measure: { kind: 'count' } }, {}, {}],
    });
    const bad = await run('rules', 'check', '--json', file('bad.yaml', 'rules: 5'));
    expect(bad.code).toBe(1);
    expect(JSON.parse(bad.out)).toMatchObject({ rules: [], problems: [{ line: 1, column: 8, sentence: expect.any(String) }] });
  });

  it('says so where a rule looks further back than its panes are kept', async () => {
    const { code, out } = await run('rules', 'check', file('rules.yaml', RULES.replace('against: 1h', 'against: 7d')));
    expect(code).toBe(1);
    expect(out).toContain('Rule traffic looks back');
  });

  it.each([
    [['rules', 'check'], "missing required argument 'file'"],
    [['rules', 'check', '/no/such/file.yaml'], 'no such file or folder'],
    [['rules', 'check', '--nonsense', 'x'], 'unknown option'],
    [['rules', 'chekc'], 'unknown command'],
    [['rules'], 'check'],
  ])('%j is wrong use: exit code 2', async (argv, sentence) => {
    const { code, told } = await run(...argv);
    expect(code).toBe(2);
    expect(told).toContain(sentence);
    expect(told).not.toContain('    at ');
  });

  it('with --check-only only looks at the words', async () => {
    expect(await run('--check-only', 'rules', 'check', '/no/such/file.yaml')).toEqual({ code: 0, out: '', told: '' });
  });
});
