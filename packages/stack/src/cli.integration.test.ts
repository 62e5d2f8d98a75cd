import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { processEnvironment } from './config.ts';

/** The build, as `npm test` runs it. */
const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'cli-test-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: readonly string[], environment: Record<string, string> = {}): { child: ChildProcess; result: Promise<Result> } {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...processEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  const result = new Promise<Result>((resolve) => child.once('close', (code) => resolve({ code, ...output })));
  return { child, result };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Processes that were started with a variable of this value; Linux only. */
function processesMarked(mark: string): string[] {
  return execLines('sh', `grep -lz 'TAILRACE_TEST_MARK=${mark}' /proc/[0-9]*/environ 2>/dev/null || true`);
}

function execLines(shell: string, script: string): string[] {
  return execFileSync(shell, ['-c', script], { encoding: 'utf8' }).split('\n').filter(Boolean);
}

test('runs a command with the endpoints in its environment and exits as it does', async () => {
  const envFile = join(folder, 'endpoints.env');
  const script = `curl -sf "$OPENSEARCH_URL" >/dev/null && cat '${envFile}' && exit 7`;
  const { code, stdout } = await run(['--write-env', envFile, '--', 'sh', '-c', script]).result;
  expect(code).toBe(7);
  expect(stdout.match(/^[A-Z0-9_]+=.+$/gm)).toHaveLength(8);
});

test.each([
  [[], /^no command was given: put it behind `--`\nUsage:/],
  [['--'], /^no command was given behind `--`\nUsage:/],
  [['--nonsense', '--', 'true'], /^Unknown option '--nonsense'/],
  [['--brokers', '2', '--', 'true'], /^--brokers is "2": give 1 or 3\nUsage:/],
])('wrong use %j is said, with exit code 2', async (args, message) => {
  const { code, stderr } = await run(args).result;
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
});

test.each([
  [
    { TAILRACE_JAVA: '/none' },
    "TAILRACE_JAVA names /none, where no JDK lies (bin/javac and a release file): set it to a JDK's folder, or unset it.\n",
  ],
  [{ TAILRACE_OPENSEARCH: '1' }, 'TAILRACE_OPENSEARCH is "1": set it to 2 or 3, or unset it.\n'],
])('a wrong setting %j is one sentence and exit code 2', async (environment, sentence) => {
  const { code, stderr } = await run(['--', 'true'], environment).result;
  expect({ code, stderr }).toEqual({ code: 2, stderr: sentence });
});

test('without jars and without Maven one sentence says what to install', async () => {
  const { code, stderr } = await run(['--', 'true'], { XDG_CACHE_HOME: join(folder, 'empty'), PATH: join(folder, 'none') }).result;
  expect(code).toBe(1);
  expect(stderr.split('\n').at(-2)).toMatch(/^Maven \(mvn\) was not found, .*: install it .*then run the command again\.$/);
});

test.each([1, 3])('a kill -9 of the starter of %i brokers leaves no process, port or folder after 10 s', async (brokers) => {
  const mark = `${process.pid}-${Date.now()}`;
  const envFile = join(folder, `killed-${brokers}.env`);
  const { child, result } = run(['--brokers', String(brokers), '--write-env', envFile, '--', 'sleep', '300'], {
    TAILRACE_TEST_MARK: mark,
    TMPDIR: folder,
  });
  await vi.waitFor(() => expect(existsSync(envFile)).toBe(true), { timeout: 60_000 });
  const ports = [...readFileSync(envFile, 'utf8').matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));
  expect(ports).toHaveLength(2 + brokers);
  // The command is begun behind the file.
  await vi.waitFor(() => expect(processesMarked(mark).length).toBeGreaterThanOrEqual(5 + brokers), { timeout: 10_000 });
  expect(readdirSync(folder).filter((name) => name.startsWith('tailrace-'))).toHaveLength(1);

  child.kill('SIGKILL');
  const killedMs = Date.now();
  await vi.waitFor(
    async () => {
      expect(processesMarked(mark)).toEqual([]);
      expect(await Promise.all(ports.map(listens))).toEqual(ports.map(() => false));
      expect(readdirSync(folder).filter((name) => name.startsWith('tailrace-'))).toEqual([]);
    },
    { timeout: 10_000, interval: 200 },
  );
  expect(Date.now() - killedMs).toBeLessThan(10_000);
  await result;
});

test('Ctrl-C ends the command, then the servers, and says so', async () => {
  const mark = `${process.pid}-${Date.now()}`;
  const envFile = join(folder, 'stopped.env');
  const { child, result } = run(['--write-env', envFile, '--', 'sleep', '300'], { TAILRACE_TEST_MARK: mark, TMPDIR: folder });
  await vi.waitFor(() => expect(existsSync(envFile)).toBe(true), { timeout: 60_000 });
  child.kill('SIGINT');
  expect(await result).toMatchObject({ code: 130, stderr: expect.stringContaining('Stopped by SIGINT.') });
  expect(processesMarked(mark)).toEqual([]);
  expect(readdirSync(folder).filter((name) => name.startsWith('tailrace-'))).toEqual([]);
});
