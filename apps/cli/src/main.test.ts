import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { main } from './main.ts';

let folder = '';
let told = '';
let printed = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tailrace-cli-'));
  told = '';
  printed = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    told += String(text);
    return true;
  });
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  vi.stubEnv('KAFKA_BOOTSTRAP_SERVERS', '');
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

describe('wrong use', () => {
  it.each([
    [['nonsense'], 'unknown command'],
    [['topics'], 'plan'],
    [['topics', 'plan', '--profile', 'x'], 'Allowed choices are local, cluster'],
    [['topics', 'plan', '--nonsense'], 'unknown option'],
    [['topics', 'nonsense'], "unknown command 'nonsense'\n(commands of npx tailrace topics: plan, apply)"],
    [['group', 'reset', '--group', 'indexer'], "required option '--to <position>' not specified"],
    [['group', 'reset', 'indexer', '--group', 'indexer', '--to', 'latest'], 'npx tailrace group reset --group indexer?'],
    [['group', 'nonsense', 'more'], "unknown command 'nonsense'\n(commands of npx tailrace group: lag, reset)"],
    [['lake', 'nonsense'], "unknown command 'nonsense'\n(commands of npx tailrace lake: audit, query, ledger)"],
    [['replay', 'rnu'], "unknown command 'rnu'\n(commands of npx tailrace replay: window, plan, run, receipt, cancel, show, ls)"],
    [['rules', 'chekc'], "unknown command 'chekc'\n(commands of npx tailrace rules: check, test, backtest)"],
    [['alerts', 'nonsense'], "unknown command 'nonsense'\n(commands of npx tailrace alerts: ls, show, silence, unsilence, silences, try)"],
    [['topics', 'plan'], 'KAFKA_BOOTSTRAP_SERVERS is not set'],
    [['group', 'lag'], 'KAFKA_BOOTSTRAP_SERVERS is not set'],
    [['--endpoints', '/no/such/file', 'group', 'lag'], 'can not be read as an endpoints file'],
    [['group', 'lag', 'indexer'], 'did you mean npx tailrace group lag --group indexer?'],
    [['group', 'lag', '--', 'indexer'], 'did you mean npx tailrace group lag --group indexer?'],
    [['topics', 'plan', 'local'], 'did you mean npx tailrace topics plan --profile local?'],
    [['dlq'], 'ls'],
    [['dlq', 'nonsense'], "unknown command 'nonsense'\n(commands of npx tailrace dlq: ls, show, replay)"],
    [['dlq', 'ls'], 'KAFKA_BOOTSTRAP_SERVERS is not set'],
    [['dlq', 'ls', 'not-json'], 'did you mean npx tailrace dlq ls --reason not-json?'],
    [['dlq', 'ls', '--from', '2026-03-01T09:00:00'], 'Give a time with its zone'],
    [['dlq', 'ls', '--from', '2026-03-02T09:00:00Z', '--to', '2026-03-02T10:00:00+02:00'], '--from must be earlier than --to'],
    [['dlq', 'ls', '--source', 'a/b'], 'Give a topic, topic/partition or topic/partition/offset.'],
    [['dlq', 'ls', '--source', 'other'], 'There are no dead letters of other: name one of service-events.'],
    [['dlq', 'ls', '--group', 'archiver'], 'No group archiver of this release has dead letters: name one of indexer.'],
    [['dlq', 'show'], 'Say which dead letter: --at'],
    [['dlq', 'show', '3/17'], 'did you mean npx tailrace dlq show --at 3/17?'],
    [['dlq', 'show', '--at', '3'], 'Give partition/offset'],
    [['dlq', 'show', '--source', 'service-events/3'], 'Give topic/partition/offset'],
    [['dlq', 'show', '--at', '3/1', '--source', 'service-events/3/1'], 'cannot be used with'],
    [['dlq', 'replay'], "required option '--group <name>' not specified"],
    [['dlq', 'replay', 'indexer', '--group', 'indexer'], 'did you mean npx tailrace dlq replay --group indexer?'],
    [['dlq', 'replay', '--group', 'archiver'], 'No group archiver of this release has dead letters: name one of indexer.'],
    [['dlq', 'replay', '--group', 'indexer', '--from', '2026-03-01T09:00:00'], 'Give a time with its zone'],
    [['dlq', 'replay', '--group', 'indexer', '--source', 'other'], 'There are no dead letters of other: name one of service-events.'],
    [['dlq', 'replay', '--group', 'indexer', '--yes'], 'KAFKA_BOOTSTRAP_SERVERS is not set'],
    [['topics', 'apply', 'local'], 'did you mean npx tailrace topics apply --profile local?'],
  ])('%j exits with 2 and one sentence', async (argv, sentence) => {
    expect(await main(argv)).toBe(2);
    expect(told).toContain(sentence);
    expect(told).not.toContain('    at ');
  });

  it.each([
    ['--endpoints', 'F', 'group', 'lag'],
    ['group', '--endpoints', 'F', 'lag'],
    ['group', 'lag', '--endpoints', 'F'],
    ['--json', 'group', 'lag', '--endpoints=F'],
    ['topics', 'plan', '--json', '--endpoints', 'F'],
    ['--json', 'lake', 'audit', '--endpoints', 'F'],
    ['lake', '--endpoints', 'F', 'query', 'SELECT 1', '--json'],
  ])('--endpoints and --json count before and behind noun and verb: %j %j %j %j', async (...argv) => {
    expect(await main(argv)).toBe(2);
    expect(told).toMatch(/^F can not be read as an endpoints file/);
  });

  it.each([[['group', 'lag']], [['topics', 'plan']], [['lake', 'audit']], [['lake', 'query', 'SELECT 1']]])(
    '%j without an address names the endpoints file as the other way',
    async (argv) => {
      vi.stubEnv('AWS_REGION', '');
      vi.stubEnv('AWS_ENDPOINT_URL_S3', '');
      expect(await main(argv)).toBe(2);
      expect(told).toMatch(
        / is not set; .*\nOr name a file with all of it: --endpoints FILE, written by npm start -- --endpoints FILE\.\n$/,
      );
    },
  );

  it('an endpoints file without addresses is wrong use', async () => {
    const file = join(folder, 'endpoints.json');
    writeFileSync(file, '{"environment":{"KAFKA_BOOTSTRAP_SERVERS":1}}');
    expect(await main(['--endpoints', file, 'group', 'lag'])).toBe(2);
    expect(told).toContain('holds no "environment"');
  });
});

it('a command that an error names has the endpoints file that this one was given', async () => {
  const file = join(folder, 'endpoints.json');
  writeFileSync(file, '{"environment":{"KAFKA_BOOTSTRAP_SERVERS":"127.0.0.1:1"}}');
  expect(await main(['--endpoints', file, 'group', 'reset', '--group', 'archiver', '--to', 'latest', '--yes'])).toBe(2);
  expect(told).toContain(`npx tailrace --endpoints ${file} lake audit shows`);
});

it('help is no wrong use', async () => {
  expect(await main(['--help'])).toBe(0);
  expect(await main(['topics', 'plan', '--help'])).toBe(0);
});

it('says its version', async () => {
  expect(await main(['--version'])).toBe(0);
  expect(printed).toMatch(/^\d+\.\d+\.\d+\n$/);
});

describe('servers that are gone', () => {
  it.each([
    [['group', 'lag'], 'Kafka does not answer at 127.0.0.1:1 (KAFKA_BOOTSTRAP_SERVERS'],
    [['dlq', 'ls'], 'Kafka does not answer at 127.0.0.1:1 (KAFKA_BOOTSTRAP_SERVERS'],
    [['topics', 'plan'], 'Kafka does not answer at 127.0.0.1:1 (KAFKA_BOOTSTRAP_SERVERS'],
    [['lake', 'audit'], 'S3 does not answer at http://127.0.0.1:1 (AWS_ENDPOINT_URL_S3'],
    [['replay', 'window'], 'S3 does not answer at http://127.0.0.1:1 (AWS_ENDPOINT_URL_S3'],
    [['lake', 'query', 'SELECT 1'], 'S3 does not answer at http://127.0.0.1:1 (AWS_ENDPOINT_URL_S3'],
  ])('%j with a stale endpoints file is one sentence: what, where, from which file, what to do', async (argv, sentence) => {
    const file = join(folder, 'endpoints.json');
    const environment = {
      KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1',
      AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
      TAILRACE_TOPIC_PROFILE: 'local',
    };
    writeFileSync(file, JSON.stringify({ environment }));
    expect(await main(['--endpoints', file, ...argv])).toBe(1);
    expect(told).toBe(
      `${sentence} in ${file}; ECONNREFUSED): if that pipeline has ended, start one with: npm start -- --endpoints ${file}.\n`,
    );
  });

  it.each([
    [['replay', 'run', '0']],
    [['replay', 'run', '1', '--rate', '1.5MiB']],
    [['replay', 'plan', '--from', '1767225600', '--to', '2026-01-02T00:00:00Z', '--into', 'indexer']],
    [['replay', 'plan', '--from', '2026-01-01T00:00:00Z', '--to', '2026-01-02T00:00:00Z', '--into', 'archiver']],
  ])('%j is wrong use, whether they answer or not', async (argv) => {
    vi.stubEnv('KAFKA_BOOTSTRAP_SERVERS', '127.0.0.1:1');
    vi.stubEnv('AWS_ENDPOINT_URL_S3', 'http://127.0.0.1:1');
    // What is wrong is told by the app, a process of its own.
    expect([await main(argv), told]).toEqual([2, '']);
  });

  it('rules are checked without any server', async () => {
    const file = join(folder, 'rules.yaml');
    writeFileSync(file, 'rules: []');
    expect([await main(['rules', 'check', file]), told]).toEqual([0, '']);
    writeFileSync(file, 'rules: 5');
    expect([await main(['rules', 'check', '--json', file]), told]).toEqual([1, '']);
  });

  it('a pipeline whose start still runs is not said to have ended', async () => {
    const file = join(folder, 'endpoints.json');
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    const write = (owner: object) =>
      writeFileSync(
        file,
        JSON.stringify({ owner, environment: { KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1', TAILRACE_TOPIC_PROFILE: 'local' } }),
      );
    write({ pid: process.pid, started });
    expect(await main(['--endpoints', file, 'group', 'lag'])).toBe(1);
    expect(told).toContain(`the npm start that wrote the file still runs (process ${process.pid}), so this server has ended or is started`);
    told = '';
    write({ pid: process.pid, started: '1' });
    expect(await main(['--endpoints', file, 'group', 'lag'])).toBe(1);
    expect(told).toContain('if that pipeline has ended, start one with');
  });

  it('an address of the environment is named as such', async () => {
    vi.stubEnv('KAFKA_BOOTSTRAP_SERVERS', '127.0.0.1:1');
    expect(await main(['group', 'lag'])).toBe(1);
    expect(told).toMatch(
      /^Kafka does not answer at 127\.0\.0\.1:1 \(KAFKA_BOOTSTRAP_SERVERS in the environment; ECONNREFUSED\): check .*\n$/,
    );
  });
});

it('the command exists before anything is built, and then says what to do', () => {
  const script = join(folder, 'bin', 'tailrace.mjs');
  const copied = spawnSync('sh', [
    '-c',
    `mkdir "${folder}/bin" && cp "${new URL('../bin/tailrace.mjs', import.meta.url).pathname}" "${script}"`,
  ]);
  expect(copied.status).toBe(0);
  const run = spawnSync(process.execPath, [script, 'topics', 'plan'], { encoding: 'utf8' });
  expect(run.status).toBe(1);
  expect(run.stderr).toContain('tailrace is not built yet');
});
