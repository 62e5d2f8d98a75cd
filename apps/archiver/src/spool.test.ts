import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Spool } from './spool.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tailrace-spool-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Above Linux's greatest process id. */
const DEAD_PID = 5_000_000;

it('removes what dead processes left, leaves what living ones use and what is not its own, and cleans up behind itself', async () => {
  for (const name of [`spool-${DEAD_PID}`, `spool-${process.ppid}`, `spool-${process.pid}`, 'notes']) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'a.rows'), 'x');
  }
  const spool = await Spool.open(folder);
  expect((await readdir(folder)).sort()).toEqual([`spool-${process.pid}`, `spool-${process.ppid}`, 'notes'].sort());
  expect(await readdir(spool.folder)).toEqual([]);
  const file = await spool.rows();
  expect(await readdir(spool.folder)).toHaveLength(1);
  await file.delete();
  await spool.close();
  expect((await readdir(folder)).sort()).toEqual([`spool-${process.ppid}`, 'notes'].sort());
});

it('makes the data folder where it is missing', async () => {
  const spool = await Spool.open(join(folder, 'deep', 'er'));
  expect(spool.folder.startsWith(join(folder, 'deep', 'er'))).toBe(true);
});

it('says what is wrong with a data folder that can not be one, and does not try it without end', async () => {
  await writeFile(join(folder, 'file'), 'x');
  for (const path of ['/proc/tailrace/spool', join(folder, 'file'), join(folder, 'file', 'below')])
    await expect(Spool.open(path)).rejects.toThrow(/can not be gathered in .* set ARCHIVER_DATA_DIR/);
});
