import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cached, cacheRoot, keyOf, makeCacheRoot } from './cache.mjs';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'cache-test-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

test('the cache lies where XDG says, else in ~/.cache', () => {
  expect(cacheRoot({ XDG_CACHE_HOME: '/x', HOME: '/h' })).toBe('/x/tailrace');
  expect(cacheRoot({ XDG_CACHE_HOME: '', HOME: '/h' })).toBe('/h/.cache/tailrace');
});

test('a cache folder that can not be made is one sentence', () => {
  writeFileSync(join(root, 'file'), '');
  expect(() => makeCacheRoot({ XDG_CACHE_HOME: join(root, 'file') })).toThrow(
    /can not be written \(ENOTDIR\): mend its permissions, or set XDG_CACHE_HOME/,
  );
});

test('a cache folder below /proc is refused too, and not tried again without end', () => {
  expect(() => makeCacheRoot({ XDG_CACHE_HOME: '/proc/x' })).toThrow(/can not be written \(ENOENT\)/);
});

test('a key depends on every part and on where parts end', () => {
  expect(keyOf(['ab', 'c'])).not.toBe(keyOf(['a', 'bc']));
  expect(keyOf(['ab', 'c'])).toBe(keyOf([Buffer.from('ab'), 'c']));
});

test('an entry is made once, and a making that failed leaves nothing', async () => {
  const entry = join(root, 'kind', 'name');
  const broken = cached(entry, async (path) => {
    writeFileSync(path, 'half');
    throw new Error('interrupted');
  });
  await expect(broken).rejects.toThrow('interrupted');
  expect(existsSync(entry)).toBe(false);
  expect(readdirSync(join(root, 'unfinished'))).toEqual([]);
  let made = 0;
  const make = async (path: string) => {
    made++;
    mkdirSync(path);
    writeFileSync(join(path, 'file'), 'whole');
  };
  await cached(entry, make);
  await cached(entry, make);
  expect(made).toBe(1);
  expect(readFileSync(join(entry, 'file'), 'utf8')).toBe('whole');
});

test('two makers at the same time both get a whole entry', async () => {
  const entry = join(root, 'kind', 'name');
  const make = async (path: string) => {
    mkdirSync(path);
    await new Promise((resolve) => setTimeout(resolve, 20));
    writeFileSync(join(path, 'file'), 'whole');
  };
  expect(await Promise.all([cached(entry, make), cached(entry, make)])).toEqual([entry, entry]);
  expect(readFileSync(join(entry, 'file'), 'utf8')).toBe('whole');
  expect(readdirSync(join(root, 'unfinished'))).toEqual([]);
});

test('what a killed maker left goes, what a living one is making stays, and so does all but the long unused', () => {
  const env = { XDG_CACHE_HOME: root };
  const folder = join(makeCacheRoot(env), 'unfinished');
  mkdirSync(join(folder, `${process.pid}-mine`), { recursive: true });
  mkdirSync(join(folder, '999999999-gone'));
  const used = join(root, 'tailrace/jars/used');
  const unused = join(root, 'tailrace/jars/unused');
  for (const entry of [used, unused]) mkdirSync(entry, { recursive: true });
  utimesSync(unused, new Date('2020-01-01'), new Date());
  makeCacheRoot(env);
  expect(readdirSync(folder)).toEqual([`${process.pid}-mine`]);
  expect(existsSync(used)).toBe(true);
  expect(existsSync(unused)).toBe(false);
});
