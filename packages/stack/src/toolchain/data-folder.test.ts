import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { makeFolders } from '../folders.ts';
import { checkDataFolder, fullDisk, requireSpace } from './data-folder.mjs';
import { Failure } from './failure.mjs';
import { makeFolder } from './make-folder.mjs';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'data-folder-test-'));
});
afterEach(() => {
  rmSync(base, { recursive: true, force: true });
});

/** The refusal, which must be wrong use in one sentence that names the folder and ends with what to do. */
function refusal(folder: string): string {
  try {
    checkDataFolder(folder);
  } catch (fault) {
    if (!(fault instanceof Failure)) throw fault;
    expect(fault.exitCode).toBe(2);
    expect(fault.message).toMatch(/^[^\n]+: [^\n]*(name|end|make)[^\n]*\.$/);
    expect(fault.message).toContain(folder);
    return fault.message;
  }
  throw new Error(`${folder} was taken`);
}

describe('a data folder that can not be used is refused in one sentence', () => {
  test.each([
    ['below /proc', '/proc/x/y', /ENOENT/],
    ['/proc itself', '/proc', /E[A-Z]+/],
    ['below /sys', '/sys/x', /E[A-Z]+/],
    ['below a device', '/dev/null/x', /ENOTDIR/],
    ['with a name that is too long', `/tmp/${'x'.repeat(300)}`, /ENAMETOOLONG/],
  ])('%s', (_, folder, reason) => {
    expect(refusal(folder)).toMatch(reason);
  });

  test('a file, and a path with a file as parent', () => {
    writeFileSync(join(base, 'file'), '');
    expect(refusal(join(base, 'file'))).toContain('is not a folder');
    expect(refusal(join(base, 'file', 'data'))).toContain('a part of its path is a file');
  });

  test('in use by another start', async () => {
    const data = join(base, 'data');
    const { lifeline } = makeFolders(data, 3);
    expect(refusal(data)).toContain(`is in use by another start (process ${process.pid}): end that one`);
    await lifeline.release(5_000);
    checkDataFolder(data);
  });

  test('in use by what a start that has ended left behind: its process is named, and its end frees the folder', async () => {
    const data = join(base, 'data');
    const script = `import('${new URL('../folders.ts', import.meta.url)}').then(({ makeFolders }) => {
      const { lifeline } = makeFolders('${data}', 3);
      const { spawn } = require('node:child_process');
      const left = spawn('sleep', ['60'], { detached: true, stdio: ['ignore', 'ignore', 'ignore', lifeline.stream] });
      left.once('spawn', () => process.stdout.write(String(left.pid), () => process.kill(process.pid, 'SIGKILL')));
    })`;
    const { stdout } = spawnSync(process.execPath, ['--import', 'tsx', '-e', script], { encoding: 'utf8' });
    expect(refusal(data)).toContain(`is in use by process ${stdout} (sleep), which a start that has ended left behind: end it, or name`);
    process.kill(Number(stdout), 'SIGKILL');
    await vi.waitFor(() => checkDataFolder(data), { timeout: 5_000 });
  });

  test.each([
    ['a file', () => writeFileSync(join(base, 'notes.txt'), 'mine')],
    ['a hidden file', () => writeFileSync(join(base, '.gitignore'), 'mine')],
    ['a folder that is named like one of ours', () => mkdirSync(join(base, 'kafka'))],
  ])('with something of somebody else in it: %s', (_, put) => {
    put();
    const before = readdirSync(base);
    expect(refusal(base)).toContain(`holds files of somebody else (${before[0]}) and no data of an earlier start: name an empty folder`);
    expect(readdirSync(base)).toEqual(before);
  });

  test('not writable for this user', () => {
    // As another user where the test runs as root, for whom no permission counts.
    const script = `import('${new URL('data-folder.mjs', import.meta.url)}').then(({ checkDataFolder }) => {
      if (process.getuid() === 0) process.setuid(65534);
      try { checkDataFolder('${base}/data'); } catch (fault) { process.stdout.write(fault.message); }
    })`;
    const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect(stdout).toContain('can not be used (EACCES): this user may not write there');
  });

  test('no space left', () => {
    // /proc tells of no free block at all.
    expect(() => requireSpace('/proc', 'name a folder on another disk')).toThrow(
      /has 0 MB free, and the servers need 500 MB: make room, or name/,
    );
  });
});

test('a server that ended on a full disk is told from one that ended otherwise, by its log or by the room there is', () => {
  const full = /^the disk of .* is full \(\d+ MB free; the servers need 500 MB\): make room there, or name a folder on another disk, then/;
  expect(fullDisk(base, 'java.io.IOException: No space left on device')).toMatch(full);
  expect(fullDisk('/proc', 'anything')).toMatch(full);
  expect(fullDisk(base, 'OutOfMemoryError')).toBeUndefined();
});

test('a folder in which a start has kept data is taken again, and one that a killed start or a new disk left', async () => {
  const data = join(base, 'data');
  await makeFolders(data, 3).lifeline.release(5_000);
  writeFileSync(join(data, 'tailrace.json'), '{}');
  checkDataFolder(data);
  const early = join(base, 'early');
  mkdirSync(join(early, 'lost+found'), { recursive: true });
  writeFileSync(join(early, '.tailrace-in-use'), '1\n');
  checkDataFolder(early);
});

test('a good folder is made with those above it, and nothing else is left in it; of a refused one nothing is left', () => {
  checkDataFolder(join(base, 'a', 'b'));
  expect(readdirSync(join(base, 'a', 'b'))).toEqual([]);
  expect(() => checkDataFolder(join(base, 'c', 'x'.repeat(300)))).toThrow('ENAMETOOLONG');
  expect(existsSync(join(base, 'c'))).toBe(false);
});

test('making a folder ends, also below /proc, where Node’s own way never does', () => {
  const script = `import('${new URL('make-folder.mjs', import.meta.url)}').then(({ makeFolder }) => makeFolder('/proc/x/y'))`;
  const { signal, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', timeout: 5_000 });
  expect(signal).toBeNull();
  expect(stderr).toContain('ENOENT');
  expect(makeFolder(join(base, 'a', 'b'))).toEqual([join(base, 'a'), join(base, 'a', 'b')]);
  expect(makeFolder(join(base, 'a', 'b'))).toEqual([]);
});
