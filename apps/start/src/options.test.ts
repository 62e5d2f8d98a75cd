import { spawnSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
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
      brokers: 1,
      servers: 'own',
    });
  });

  it('never posts samples to given servers unless asked', () => {
    expect(parseOptions(['--servers', 'given'])).toMatchObject({ rate: 0 });
    expect(parseOptions(['--servers', 'given', '--samples'])).toMatchObject({ rate: 50 });
    expect(wrongUse('--servers', 'given', '--once')).toContain('--once has nothing to post');
  });

  it('runs one broker, or three', () => {
    expect(parseOptions(['--brokers', '1'])).toMatchObject({ brokers: 1 });
    expect(parseOptions(['--brokers', '3'])).toMatchObject({ brokers: 3 });
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
    [['--brokers', '2'], "'2' is invalid. Allowed choices are 1, 3"],
    [['--brokers', 'three'], 'Allowed choices are 1, 3'],
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
    [['--servers', 'given', '--brokers', '3'], '--brokers is for own servers'],
    [['--servers', 'given', '--brokers', '1'], '--brokers is for own servers'],
    [['--once', '--rate', '5'], '--rate is for traffic that goes on'],
  ])('refuses %j: an option without effect is a misunderstanding', (argv, sentence) => {
    expect(wrongUse(...argv)).toContain(sentence);
  });

  it.each(['rate', 'input', 'data', 'endpoints', 'brokers', 'servers'])('refuses --%s given twice, also with the same value', (name) => {
    for (const second of ['1', '3'])
      expect(wrongUse(`--${name}`, '3', `--${name}=${second}`)).toMatch(
        new RegExp(`^option '--${name} <.+>' is given twice: give it once\\.$`),
      );
    expect(wrongUse(`--${name}`, '3', `--${name}`, '-1')).toContain('is given twice');
  });

  it('its help names every option and the exit codes', () => {
    const shown = parseOptions(['--help']);
    if (!('help' in shown)) throw new Error('no help');
    for (const name of ['rate', 'input', 'once', 'data', 'endpoints', 'brokers', 'servers', 'samples'])
      expect(shown.help).toContain(`--${name} `);
    expect(shown.help).toContain('1 an event was rejected');
  });
});

describe('an endpoints file that is not ours is refused before anything starts', () => {
  it.each([
    ['a file of the user', (path: string) => writeFileSync(path, '{"name":"my-package"}'), 'npm start did not write'],
    ['a folder', (path: string) => mkdirSync(path), 'it is not a file'],
    ['a link to nothing', (path: string) => symlinkSync('nowhere', path), 'it is a symbolic link'],
    ['a link to a file', (path: string) => symlinkSync(blank, path), 'it is a symbolic link'],
    ['a file that is too large to be one', (path: string) => writeFileSync(path, Buffer.alloc(2e6, ' ')), 'npm start did not write'],
  ])('%s', (_, make, why) => {
    const path = join(mkdtempSync(join(folder, 'endpoints-')), 'x.json');
    make(path);
    const { ino, mode, size, mtimeMs } = lstatSync(path);
    expect(wrongUse('--endpoints', path)).toMatch(
      new RegExp(`^The file ${path} of --endpoints can not be written: [^\\n]*${why}[^\\n]*\\.$`),
    );
    expect(lstatSync(path)).toMatchObject({ ino, mode, size, mtimeMs });
  });

  it('a file that can not be read', () => {
    const path = join(folder, 'unreadable.json');
    writeFileSync(path, '{}', { mode: 0o000 });
    chmodSync(folder, 0o777);
    // As another user where the test runs as root, for whom no permission counts.
    const script = `import('${new URL('options.mjs', import.meta.url)}').then(({ parseOptions }) => {
      if (process.getuid() === 0) process.setuid(65534);
      try { parseOptions(['--endpoints', '${path}']); } catch (error) { process.stdout.write(error.exitCode + ' ' + error.message); }
    })`;
    expect(spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' }).stdout).toMatch(/^2 The file .* can not be written: EACCES/);
  });
});

describe('a file that does not hold one event a line is refused with the command that makes one of it', () => {
  const event = { timestamp: '2026-01-31T12:00:00Z', service: 's', attributes: { a: [1] } };
  const input = (content: string | Buffer, name = 'input') => {
    const path = join(mkdtempSync(join(folder, 'input-')), name);
    writeFileSync(path, content);
    return path;
  };

  it.each([
    ['gzip', gzipSync(JSON.stringify(event)), 'gunzip -c'],
    ['zstd', Buffer.from('28b52ffd2000', 'hex'), 'zstd -dc'],
    ['xz', Buffer.from('fd377a585a0000', 'hex'), 'xz -dc'],
    ['bzip2', Buffer.from('BZh91AY'), 'bunzip2 -c'],
    ['zip', Buffer.from('PK\u0003\u0004'), 'unzip -p'],
    ['UTF-16', Buffer.from('\ufeff{}\n', 'utf16le'), 'iconv -f UTF-16 -t UTF-8'],
    ['an array on one line', JSON.stringify([event, event]), "jq -c '.\\[\\]'"],
    ['an array behind a byte order mark', `\ufeff\n${JSON.stringify([event])}`, "jq -c '.\\[\\]'"],
    ['an array of events, one a line', `[\n${JSON.stringify(event)},\n${JSON.stringify(event)}\n]`, "jq -c '.\\[\\]'"],
    ['an indented array', JSON.stringify([event], null, 2), "jq -c '.\\[\\]'"],
    ['an array larger than is looked at', JSON.stringify(Array.from({ length: 20_000 }, () => event)), "jq -c '.\\[\\]'"],
    ['an indented event', JSON.stringify(event, null, 2), 'jq -c \\.'],
    ['indented events', `${JSON.stringify(event, null, 2)}\n${JSON.stringify(event, null, '\t')}\n`, 'jq -c \\.'],
    ['an event that begins on its brace’s line', '{"timestamp": "2026-01-31T12:00:00Z",\r\n "service": "s"}\r\n', 'jq -c \\.'],
  ])('%s', (_, content, command) => {
    const path = input(content);
    expect(wrongUse('--input', path)).toMatch(
      new RegExp(`^The file ${path} of --input can not be posted: [^\\n]+ ${command} ${path} > events\\.ndjson$`),
    );
  });

  it.each([
    ['events', `${JSON.stringify(event)}\n${JSON.stringify(event)}\n`],
    ['one event without a line end', JSON.stringify(event)],
    ['events behind a byte order mark and blank lines', `\ufeff\r\n\r\n${JSON.stringify(event)}\r\n`],
    ['a first line that is cut off', `{"timestamp":"2026-01-31T12:00:00Z",\n${JSON.stringify(event)}\n`],
    ['a first line that is an array', `[1]\n${JSON.stringify(event)}\n`],
    ['lines of a log in brackets', '[2026-01-31 12:00:00] hello\n[2026-01-31 12:00:01] hello\n'],
    ['a first line that is no JSON', `hello\n${JSON.stringify(event)}\n`],
    ['a first line longer than is looked at', `{"message":"${'x'.repeat(2e6)}"}\n`],
  ])('but %s are posted: the gateway names bad lines', (_, content) => {
    const path = input(content);
    expect(parseOptions(['--input', path])).toMatchObject({ inputFile: path });
  });

  it('the command that is named works also for a name with blanks and quotes', () => {
    const path = input(gzipSync(`${JSON.stringify(event)}\n`), "it's an input.gz");
    const command = /with: (gunzip .+) > events\.ndjson$/.exec(wrongUse('--input', path))?.[1] ?? '';
    expect(spawnSync('sh', ['-c', command], { encoding: 'utf8' }).stdout).toBe(`${JSON.stringify(event)}\n`);
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
