import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';

const PARENT = fileURLToPath(new URL('../testing/child-of.ts', import.meta.url));

/** A parent whose child does its work; gives the child's process id once it is up. */
async function start(work: string): Promise<{ readonly parent: ChildProcess; readonly child: number }> {
  const parent = spawn(process.execPath, ['--import', 'tsx', PARENT, work], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void parent.kill('SIGKILL'));
  if (parent.stdout === null) throw new Error('its output is read');
  const lines: string[] = [];
  for await (const line of createInterface({ input: parent.stdout })) {
    lines.push(line);
    if (lines.length === 2) break;
  }
  return { parent, child: Number(lines.find((line) => line !== 'up')) };
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // Safe: a process that can not be signalled by who started it is gone.
    return false;
  }
}

it('a command ends when its caller is killed', async () => {
  const { parent, child } = await start('forever');
  expect(isThere(child)).toBe(true);
  parent.kill('SIGKILL');
  await vi.waitUntil(() => !isThere(child), { timeout: 10_000 });
});

it('a command whose work is done ends by itself, with its exit code', async () => {
  const { parent } = await start('done');
  const [code] = (await once(parent, 'exit')) as [number];
  expect(code).toBe(3);
});
