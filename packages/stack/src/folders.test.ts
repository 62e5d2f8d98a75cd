import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { makeFolders } from './folders.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'folders-test-'));
});
afterEach(() => {
  rmSync(base, { recursive: true, force: true });
});

test('a temporary folder is removed when it is let go', async () => {
  const folders = makeFolders(undefined, 3);
  expect(existsSync(folders.logs)).toBe(true);
  await folders.lifeline.release(5_000);
  expect(existsSync(folders.scratch)).toBe(false);
});

test('a temporary folder stays while another process holds the lifeline, and goes when that one is killed', async () => {
  const folders = makeFolders(undefined, 3);
  const holder = spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', folders.lifeline.stream] });
  await new Promise((resolve) => holder.once('spawn', resolve));
  await folders.lifeline.release(300);
  expect(existsSync(folders.logs)).toBe(true);
  holder.kill('SIGKILL');
  await vi.waitFor(() => expect(existsSync(folders.scratch)).toBe(false), { timeout: 5_000 });
});

test('a file that was named is removed behind the last user, however they ended, and only while it holds what they wrote', async () => {
  const own = join(base, "own 'file' $(x)");
  const theirs = join(base, 'theirs');
  for (const [file, holds] of [
    [own, 'secret\n'],
    [theirs, 'of another start\n'],
  ] as const) {
    const folders = makeFolders(undefined, 3);
    const holder = spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', folders.lifeline.stream] });
    await new Promise((resolve) => holder.once('spawn', resolve));
    writeFileSync(file, holds);
    folders.lifeline.removeBehind(file, 'secret\n');
    await folders.lifeline.release(100);
    expect(existsSync(file)).toBe(true);
    holder.kill('SIGKILL');
    await vi.waitFor(() => expect(existsSync(folders.scratch)).toBe(false), { timeout: 5_000 });
  }
  expect([existsSync(own), existsSync(theirs)]).toEqual([false, true]);
});

test('a data folder is kept, and free again when it is let go', async () => {
  const data = join(base, 'data');
  const first = makeFolders(data, 3);
  expect(() => makeFolders(data, 3)).toThrow(
    /^The data folder .*data is in use by another start \(process \d+\): end that one, or name another folder\.$/,
  );
  await first.lifeline.release(5_000);
  expect(existsSync(join(data, 'kafka'))).toBe(true);
  const second = makeFolders(data, 3);
  await second.lifeline.release(5_000);
});

test('a lock that a crash left behind does not count, even when its process id lives again as something else', async () => {
  const data = join(base, 'data');
  mkdirSync(data);
  writeFileSync(join(data, '.tailrace-in-use'), `${process.pid}\n`);
  const folders = makeFolders(data, 3);
  expect(readFileSync(join(data, '.tailrace-in-use'), 'utf8').split(' ')[0]).toBe(String(folders.lifeline.janitorPid));
  await folders.lifeline.release(5_000);
});

test('a data folder that can not be written is one sentence', async () => {
  writeFileSync(join(base, 'file'), '');
  expect(() => makeFolders(join(base, 'file', 'data'), 3)).toThrow(
    /can not be used \(ENOTDIR\): a part of its path is a file: name another folder\.$/,
  );
});

test.each(['/none', '/proc'])('a temporary folder %s that can not be used is one sentence', (temporary) => {
  vi.stubEnv('TMPDIR', temporary);
  try {
    expect(() => makeFolders(undefined, 3)).toThrow(
      /(temporary folder|disk of) \S+ .*set TMPDIR to (another one|a folder on another disk)\.$/,
    );
  } finally {
    vi.unstubAllEnvs();
  }
});

test('data of a newer OpenSearch is refused, data of an older one is taken over', async () => {
  const data = join(base, 'data');
  await makeFolders(data, 2).lifeline.release(5_000);
  await makeFolders(data, 3).lifeline.release(5_000);
  expect(() => makeFolders(data, 2)).toThrow(/was written by OpenSearch 3, which version 2 can not read/);
});

test('brokers that keep their data agree on the cluster that they are of, at each start', async () => {
  const data = join(base, 'data');
  const first = makeFolders(data, 3, 3);
  expect(['kafka-1', 'kafka-2', 'kafka-3'].map((name) => existsSync(join(data, name)))).toEqual([true, true, true]);
  await first.lifeline.release(5_000);
  const second = makeFolders(data, 3, 3);
  expect(second.clusterId).toBe(first.clusterId);
  expect(first.clusterId).toMatch(/^[0-9A-Za-z_][0-9A-Za-z_-]{21}$/);
  await second.lifeline.release(5_000);
});

test.each([
  [1, 3, 'was written by one broker: use --brokers 1, or name another folder.'],
  [3, 1, 'was written by three brokers: use --brokers 3, or name another folder.'],
] as const)('data of %i brokers is refused to %i: they would not find it', async (wrote, asked, sentence) => {
  const data = join(base, 'data');
  await makeFolders(data, 3, wrote).lifeline.release(5_000);
  expect(() => makeFolders(data, 3, asked)).toThrow(sentence);
});
