import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Environment } from '../config/load.ts';
import { readListening } from '../logs/listening.ts';

const running = new Set<ChildProcess>();

/** A script of these sources as a process of its own, in no environment but this one. */
export function spawnFromSources(script: string, args: readonly string[], environment: Environment): ChildProcess {
  const child = spawn(process.execPath, ['--conditions=tailrace-src', '--import', 'tsx', script, ...args], {
    env: { PATH: '/usr/bin:/bin', UV_THREADPOOL_SIZE: '16', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  return child;
}

/** A service as a process of its own, run from its sources. `name`: what it is called when it ends too early. */
export function runFromSources(name: string, script: string, environment: Environment) {
  const child = spawnFromSources(script, [], environment);
  const lines: string[] = [];
  const errors: string[] = [];
  if (child.stdout === null || child.stderr === null) throw new Error('no pipes');
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  const gone = async (): Promise<never> => {
    await once(child, 'close');
    throw new Error(`the ${name} ended: ${[...errors, ...lines.slice(-3)].join('\n')}`);
  };
  return {
    pid: child.pid,
    errors,
    lines,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Resolves once a line of its log holds the words. */
    async said(words: string): Promise<void> {
      while (!lines.some((line) => line.includes(words))) await Promise.race([once(output, 'line'), gone()]);
    },
    /** The address of its health server. */
    url: () => lines.map(readListening).find((found) => found?.server === 'health')?.url ?? '',
    async exit(): Promise<number | null> {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
      return child.exitCode;
    },
  };
}

/** Ends what a test has left running. */
export function killFromSources(): void {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
}
