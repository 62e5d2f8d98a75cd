import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { causeInLog, Failure } from './failure.mjs';
import { runGuarded, runStep } from './processes.mjs';

const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'processes-test-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A shell that starts a child, writes both process ids into a file, and ignores the first request to end. */
const STUBBORN = "trap '' TERM; sleep 60 & echo $$ $! > pids; wait; sleep 60";

function pids(): number[] {
  const file = join(folder, 'pids');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ').map(Number) : [];
}

/** A zombie does not count: it only waits for its new parent to notice its end. */
function lives(pid: number): boolean {
  const stat = `/proc/${pid}/stat`;
  if (existsSync(stat)) return !/\) Z/.test(readFileSync(stat, 'utf8'));
  try {
    process.kill(pid, 0);
    return !existsSync('/proc');
  } catch {
    return false; // ESRCH
  }
}

test('passes on output and exit code', async () => {
  const logFile = join(folder, 'log');
  expect(await runGuarded('sh', ['-c', 'echo out; echo err >&2; exit 7'], { env, logFile })).toBe(7);
  expect(readFileSync(logFile, 'utf8')).toBe('out\nerr\n');
});

test('an aborted command has ended with all that it started before that is told', async () => {
  const stop = new AbortController();
  const run = runGuarded('sh', ['-c', STUBBORN], { env, cwd: folder, logFile: join(folder, 'log'), signal: stop.signal });
  await vi.waitFor(() => expect(pids()).toHaveLength(2));
  stop.abort(new Error('stopped'));
  await expect(run).rejects.toThrow('stopped');
  expect(pids().filter(lives)).toEqual([]);
});

test('a command ends with all that it started when its starter is killed', async () => {
  const processes = fileURLToPath(new URL('./processes.mjs', import.meta.url));
  const program = `import { runGuarded } from ${JSON.stringify(processes)};
    await runGuarded('sh', ['-c', ${JSON.stringify(STUBBORN)}], { env: process.env, cwd: ${JSON.stringify(folder)} });`;
  const starter = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' });
  await vi.waitFor(() => expect(pids()).toHaveLength(2), { timeout: 5_000 });
  starter.kill('SIGKILL');
  await vi.waitFor(() => expect(pids().filter(lives)).toEqual([]), { timeout: 5_000 });
});

test('a failed step says what failed and why, with the end of its log and where the log is', async () => {
  const logFile = join(folder, 'step.log');
  const step = runStep('Fetching things', 'sh', ['-c', 'seq 1 40; echo "write: No space left on device"; exit 1'], { env, logFile });
  const failure = await step.then(
    () => undefined,
    (failed: unknown) => failed,
  );
  expect(failure).toBeInstanceOf(Failure);
  const told = (failure as Failure).describe();
  expect(told.split('\n')[0]).toBe(
    'Fetching things failed: the disk is full: make room (the first start needs about 2 GB), then run the command again.',
  );
  expect(told).toContain('  | 40\n  | write: No space left on device');
  expect(told).not.toContain('| 20\n');
  expect(told.endsWith(`whole log: ${logFile}`)).toBe(true);
});

test.each([
  ['npm error code ENOTFOUND', /network/],
  ['Could not transfer artifact x from/to central', /network/],
  ['Temporary failure resolving deb.debian.org', /network/],
  ['ENOSPC: no space left on device, write', /disk is full/],
  ['npm error code EACCES\nnpm error syscall mkdir', /could not be written/],
])('%s', (log, cause) => {
  expect(causeInLog(log)).toMatch(cause);
});

test('a log that gives no cause away gets no invented one', () => {
  expect(causeInLog('error TS2304: Cannot find name x')).toBeUndefined();
});
