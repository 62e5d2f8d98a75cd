import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { main } from './main.ts';

let folder = '';
let told = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tailrace-cli-'));
  told = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    told += String(text);
    return true;
  });
  vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
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
    [['topics', 'plan'], 'KAFKA_BOOTSTRAP_SERVERS is not set'],
    [['group', 'lag'], 'KAFKA_BOOTSTRAP_SERVERS is not set'],
    [['--endpoints', '/no/such/file', 'group', 'lag'], 'can not be read as an endpoints file'],
  ])('%j exits with 2 and one sentence', async (argv, sentence) => {
    expect(await main(argv)).toBe(2);
    expect(told).toContain(sentence);
    expect(told).not.toContain('    at ');
  });

  it('an endpoints file without addresses is wrong use', async () => {
    const file = join(folder, 'endpoints.json');
    writeFileSync(file, '{"environment":{"KAFKA_BOOTSTRAP_SERVERS":1}}');
    expect(await main(['--endpoints', file, 'group', 'lag'])).toBe(2);
    expect(told).toContain('holds no "environment"');
  });
});

it('help is no wrong use', async () => {
  expect(await main(['--help'])).toBe(0);
  expect(await main(['topics', 'plan', '--help'])).toBe(0);
});

it('a cluster that is away is failed work, told in one line', async () => {
  const file = join(folder, 'endpoints.json');
  writeFileSync(file, '{"environment":{"KAFKA_BOOTSTRAP_SERVERS":"127.0.0.1:1"}}');
  expect(await main(['--endpoints', file, 'group', 'lag'])).toBe(1);
  expect(told.trim().split('\n')).toHaveLength(1);
  expect(told).toContain('ECONNREFUSED');
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
