import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { readListening } from '../logs/listening.ts';

const fixture = fileURLToPath(new URL('../testing/fixture-service.ts', import.meta.url));
const children: ChildProcessWithoutNullStreams[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface Line {
  readonly msg: string;
  readonly level: string;
  readonly [field: string]: unknown;
}

/** The fixture as a process: its log lines as they come, and its end. */
function run(misbehaviour: string, environment: Record<string, string> = {}, ...more: readonly string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', fixture, misbehaviour, ...more], {
    env: { KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1', ...environment },
  });
  children.push(child);
  const lines: Line[] = [];
  const waiting: { readonly text: string; found(line: Line): void }[] = [];
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line: Line = JSON.parse(text);
    lines.push(line);
    for (const wanted of waiting) if (line.msg.includes(wanted.text)) wanted.found(line);
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return {
    child,
    lines,
    messages: () => lines.map(({ msg }) => msg),
    said: (text: string) =>
      new Promise<Line>((found) => {
        const line = lines.find(({ msg }) => msg.includes(text));
        if (line === undefined) waiting.push({ text, found });
        else found(line);
      }),
    async end() {
      const [code] = await once(child, 'close');
      return { code, stderr };
    },
  };
}

/** The order in which the parts opened and closed. */
const partsOf = (messages: readonly string[]) => messages.filter((message) => /^(above|below) (opened|closed)$/.test(message));

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s stops the parts in reverse order and exits with 0', async (signal) => {
  const service = run('none');
  await service.said('ready');
  service.child.kill(signal);
  expect(await service.end()).toEqual({ code: 0, stderr: '' });
  expect(partsOf(service.messages())).toEqual(['below opened', 'above opened', 'above closed', 'below closed']);
});

test('the end of standard input stops the process where that is asked for', async () => {
  const service = run('none', { TAILRACE_STOP_ON_STDIN_END: '1' });
  await service.said('ready');
  service.child.stdin.end();
  expect((await service.end()).code).toBe(0);
  expect(service.messages()).toContain('stopping: standard input ended');
});

test('a closed standard input means nothing where it is not asked for', async () => {
  const service = run('none');
  service.child.stdin.end();
  await service.said('ready');
  service.child.kill('SIGTERM');
  expect((await service.end()).code).toBe(0);
  expect(service.messages()).toContain('stopping: SIGTERM');
});

test('Ctrl-C passed on twice at once is one wish: the stop stays orderly', async () => {
  const service = run('none');
  await service.said('ready');
  service.child.kill('SIGINT');
  service.child.kill('SIGINT');
  expect((await service.end()).code).toBe(0);
});

test('a second signal ends a process whose stop takes too long', async () => {
  const service = run('stop-hangs');
  await service.said('ready');
  service.child.kill('SIGTERM');
  await service.said('stopping: SIGTERM');
  const again = setInterval(() => service.child.kill('SIGTERM'), 100);
  const { code } = await service.end();
  clearInterval(again);
  expect(code).toBe(128 + 15);
});

test('a part that hangs while it stops is named, the others are stopped all the same, and the deadline is kept', async () => {
  const service = run('stop-hangs', { TAILRACE_STOP_TIMEOUT_MS: '400' });
  await service.said('ready');
  const begunMs = performance.now();
  service.child.kill('SIGTERM');
  expect((await service.end()).code).toBe(1);
  expect(performance.now() - begunMs).toBeLessThan(3_000);
  expect(partsOf(service.messages())).toEqual(['below opened', 'above opened', 'below closed']);
  expect(service.lines.at(-1)).toMatchObject({ level: 'error', hung: ['above'], failed: [] });
});

test('a part that hangs inside native code, for which exit() would wait, does not keep the process either', async () => {
  const service = run('stop-hangs-natively', { TAILRACE_STOP_TIMEOUT_MS: '400' });
  await service.said('ready');
  const begunMs = performance.now();
  service.child.kill('SIGTERM');
  const [, signal] = await once(service.child, 'close');
  expect(signal).toBe('SIGKILL');
  expect(performance.now() - begunMs).toBeLessThan(5_000);
  expect(service.lines.at(-1)).toMatchObject({ level: 'error', hung: ['above'] });
});

test.each(['SIGTERM', 'SIGINT', 'the end of standard input'] as const)(
  'a service that says "stopped" ends though a client that was given up blocks a thread for ever (%s)',
  async (how) => {
    const folder = mkdtempSync(join(tmpdir(), 'tailrace-fifo-'));
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const stopTimeoutMs = 2000;
    const environment = { TAILRACE_STOP_TIMEOUT_MS: String(stopTimeoutMs), TAILRACE_STOP_ON_STDIN_END: '1' };
    const service = run('stop-leaves-a-thread', environment, fifo);
    await service.said('ready');
    const begunMs = performance.now();
    const closed = once(service.child, 'close');
    if (how === 'SIGTERM' || how === 'SIGINT') service.child.kill(how);
    else service.child.stdin.end();
    // Nothing was lost and nobody asked twice: its end looks like that of a process that took SIGTERM.
    expect(await closed).toEqual([null, 'SIGTERM']);
    expect(performance.now() - begunMs).toBeLessThan(stopTimeoutMs + 1000);
    expect(service.messages().at(-1)).toBe('stopped');
    rmSync(folder, { recursive: true });
  },
);

test('a part whose stop fails is named and makes the exit code 1', async () => {
  const service = run('stop-fails');
  await service.said('ready');
  service.child.kill('SIGTERM');
  expect((await service.end()).code).toBe(1);
  expect(service.lines.at(-1)).toMatchObject({ hung: [], failed: ['above'] });
  expect(service.messages()).toContain('below closed');
});

test('a start that fails takes back what had started and exits with 1', async () => {
  const service = run('start-fails');
  expect((await service.end()).code).toBe(1);
  expect(partsOf(service.messages())).toEqual(['below opened', 'below closed']);
  expect(service.messages()).toContain('the server above can not be reached');
  expect(service.messages()).not.toContain('ready');
});

test('a setting that turns out in the start to name nonsense exits with 2, in one sentence', async () => {
  const service = run('refuses');
  expect((await service.end()).code).toBe(2);
  expect(partsOf(service.messages())).toEqual(['below opened', 'below closed']);
  expect(service.messages()).toContain('FIXTURE_FILE names a file that makes no sense.');
  expect(service.lines.filter((line) => 'err' in line)).toEqual([]);
});

test('a stop while a part waits in its start ends that wait', async () => {
  const service = run('start-waits');
  await service.said('above waits');
  service.child.kill('SIGTERM');
  expect((await service.end()).code).toBe(0);
  expect(partsOf(service.messages())).toEqual(['below opened', 'below closed']);
});

test('a stop by a signal while a start waits is no fault: no line is above info, and none has a stack', async () => {
  const service = run('start-waits');
  await service.said('above waits');
  service.child.kill('SIGTERM');
  expect((await service.end()).code).toBe(0);
  await service.said('the start was given up: ');
  expect(service.lines.filter((line) => line.level !== 'info' || 'err' in line)).toEqual([]);
});

test.each(['start-fails', 'throws', 'rejects', 'fails'])(
  'what ends a service that %s is told at error or above only',
  async (misbehaviour) => {
    const service = run(misbehaviour);
    expect((await service.end()).code).toBe(1);
    expect(service.lines.find(({ msg }) => msg.startsWith('stopping: '))?.level).toBe('error');
    const cause = /a bug|the loop broke|the server above|nobody caught|not caught/;
    const told = service.lines.filter(({ msg }) => cause.test(msg)).map(({ level }) => level);
    expect(told).toEqual(['fatal', 'error']);
  },
);

test('a stop while a start hangs keeps the deadline and names the part', async () => {
  const service = run('start-hangs', { TAILRACE_STOP_TIMEOUT_MS: '300' });
  await service.said('above waits');
  service.child.kill('SIGTERM');
  expect((await service.end()).code).toBe(1);
  expect(service.lines.at(-1)).toMatchObject({ hung: ['above'] });
});

test.each(['throws', 'rejects', 'fails'])('a service that %s logs it, stops in order and exits with 1', async (misbehaviour) => {
  const service = run(misbehaviour);
  expect((await service.end()).code).toBe(1);
  expect(partsOf(service.messages())).toEqual(['below opened', 'above opened', 'above closed', 'below closed']);
  const fatal = service.lines.filter(({ level }) => level === 'fatal');
  expect(fatal).toHaveLength(1);
  expect(fatal[0]?.err).toEqual({ type: 'Error', message: misbehaviour === 'fails' ? 'the loop broke' : 'a bug' });
});

test('the stack of what ended a service is there for those who ask with LOG_LEVEL=debug', async () => {
  const service = run('throws', { LOG_LEVEL: 'debug' });
  expect((await service.end()).code).toBe(1);
  expect(service.lines.find(({ level }) => level === 'fatal')?.err).toMatchObject({ stack: expect.stringContaining('fixture-service.ts') });
});

test('a wrong configuration prints one line for each fault and exits with 2', async () => {
  const service = run('none', { KAFKA_BOOTSTRAP_SERVERS: '', HEALTH_PORT: '80x', LOG_LEVEL: 'loud' });
  const { code, stderr } = await service.end();
  expect(code).toBe(2);
  expect(stderr.trimEnd().split('\n')).toEqual([
    'The configuration is not valid:',
    'HEALTH_PORT is not valid: "80x"; expected a port from 0 to 65535 (0: any free one).',
    'LOG_LEVEL is not valid: "loud"; expected one of trace, debug, info, warn, error, fatal, silent.',
    'KAFKA_BOOTSTRAP_SERVERS is not set; expected host:port, several separated by commas. The Kafka brokers to ask first.',
  ]);
  expect(service.lines).toEqual([]);
});

test('the log line of the health server leads to its probes', async () => {
  const service = run('start-hangs');
  await service.said('above waits');
  const listening = readListening(JSON.stringify(await service.said('health listens on')));
  expect(listening?.server).toBe('health');
  expect((await fetch(`${listening?.url}/livez`)).status).toBe(200);
  const readiness = await fetch(`${listening?.url}/readyz`);
  expect(readiness.status).toBe(503);
  expect(await readiness.json()).toEqual({
    state: 'not-ready',
    checks: [{ name: 'process', state: 'not-ready', sentence: 'The process is starting: above.' }],
  });
});

test('a health port that is taken is one sentence that names the variable', async () => {
  const first = run('none');
  const listening = readListening(JSON.stringify(await first.said('health listens on')));
  const second = run('none', { HEALTH_PORT: new URL(listening?.url ?? '').port });
  expect((await second.end()).code).toBe(1);
  expect(second.lines.filter(({ msg, level }) => msg.includes('Can not listen') && !/^(fatal|error)$/.test(level))).toEqual([]);
  expect(second.messages().find((message) => message.startsWith('Can not listen'))).toMatch(
    /the port is taken by another process. Set HEALTH_HOST or HEALTH_PORT to another one\.$/,
  );
});

test('a misspelt variable of ours is warned of at the start, in one line', async () => {
  const service = run('none', { TAILRACE_STOP_TIMEOUT: '9' });
  await service.said('ready');
  expect(service.lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg)).toEqual([
    'TAILRACE_STOP_TIMEOUT is set, and nothing reads it: it has no effect. The nearest name that this service has is TAILRACE_STOP_TIMEOUT_MS.',
  ]);
  service.child.kill('SIGTERM');
  expect(await service.end()).toMatchObject({ code: 0 });
});
