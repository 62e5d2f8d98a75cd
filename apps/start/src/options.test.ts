import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { parseOptions, UsageError } from './options.mjs';

const folder = mkdtempSync(join(tmpdir(), 'tailrace-options-'));
afterAll(() => rmSync(folder, { recursive: true }));
const blank = join(folder, 'blank.ndjson');
writeFileSync(blank, '\n  \n');

function wrongUse(...argv: string[]): string {
  try {
    parseOptions(argv);
  } catch (error) {
    if (error instanceof UsageError && error.exitCode === 2) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${argv.join(' ')}`);
}

describe('the command line of npm start', () => {
  it('posts samples to own servers without any option', () => {
    expect(parseOptions([])).toEqual({
      rate: 50,
      inputFile: undefined,
      once: false,
      dataFolder: undefined,
      endpointsFile: undefined,
      servers: 'own',
    });
  });

  it('never posts samples to given servers unless asked', () => {
    expect(parseOptions(['--servers', 'given'])).toMatchObject({ rate: 0 });
    expect(parseOptions(['--servers', 'given', '--samples'])).toMatchObject({ rate: 50 });
    expect(wrongUse('--servers', 'given', '--once')).toContain('--once has nothing to post');
  });

  it('posts a file instead of samples', () => {
    const { pathname } = new URL(import.meta.url);
    expect(parseOptions(['--input', pathname, '--once'])).toMatchObject({ rate: 0, inputFile: pathname, once: true });
  });

  it.each([
    [['--rate', 'fast'], 'whole number of events a second'],
    [['--rate', '-1'], 'whole number of events a second'],
    [['--rate', '100001'], 'whole number of events a second'],
    [['--rate', '5', '--input', 'x'], '--rate is for samples'],
    [['--input', '/no/such/file'], 'can not be read'],
    [['--input', '/'], 'it is not a file'],
    [['--servers', 'docker'], 'Allowed choices are own, given'],
    [['--servers', 'given', '--data', 'x'], '--data is for own servers'],
    [['--input', '/dev/null'], 'it is not a file'],
    [['--input', blank], 'it holds no event'],
    [['--endpoints', '/proc/x'], 'can not be written'],
    [['--endpoints', '/'], 'it is not a file'],
    [['--once=yes'], "'--once' takes no value"],
    [['--rate'], 'argument missing'],
    [['-x'], "unknown option '-x'"],
    [['--nonsense'], "unknown option '--nonsense'"],
    [['word'], 'too many arguments'],
  ])('refuses %j in one sentence', (argv, sentence) => {
    expect(wrongUse(...argv)).toContain(sentence);
    expect(wrongUse(...argv)).not.toContain('\n');
  });

  it.each([
    [['--samples'], '--samples is for --servers given'],
    [['--servers', 'given', '--samples', '--input', 'x'], '--input replaces them'],
    [['--servers', 'given', '--rate', '5'], 'given servers get none'],
    [['--once', '--rate', '5'], '--rate is for traffic that goes on'],
  ])('refuses %j: an option without effect is a misunderstanding', (argv, sentence) => {
    expect(wrongUse(...argv)).toContain(sentence);
  });

  it('its help names every option and the exit codes', () => {
    const shown = parseOptions(['--help']);
    if (!('help' in shown)) throw new Error('no help');
    for (const name of ['rate', 'input', 'once', 'data', 'endpoints', 'servers', 'samples']) expect(shown.help).toContain(`--${name} `);
    expect(shown.help).toContain('1 an event was rejected');
  });
});

describe('wrong use is told before the long first start', () => {
  const script = fileURLToPath(new URL('../../../scripts/start.mjs', import.meta.url));
  const start = (...argv: string[]) =>
    // An unusable cache folder: whoever gets as far as the bootstrap says so.
    spawnSync(process.execPath, [script, ...argv], { encoding: 'utf8', timeout: 10_000, env: { XDG_CACHE_HOME: blank } });

  it.each([
    [['--typo'], "unknown option '--typo'"],
    [['--data', blank], 'blank.ndjson is not a folder'],
    [['--data', '/proc/x'], 'The data folder /proc/x can not be used (ENOENT)'],
  ])('%j', (argv, sentence) => {
    const { status, stderr, signal } = start(...argv);
    expect({ status, signal }).toEqual({ status: 2, signal: null });
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain('    at ');
  });

  it('and what is right goes on to it', () => {
    expect(start('--rate', '0').stderr).toContain('The cache folder');
  });
});
