import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readListening } from '@tailrace/service';
import { endpointsFromEnvironment, environmentOf } from '@tailrace/stack';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));
const running = new Set<ChildProcess>();

/** The alert processor as a process of its own, run from its sources. */
export function runAlerts(environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, ['--conditions=tailrace-src', '--import', 'tsx', main], {
    env: {
      PATH: '/usr/bin:/bin',
      ...environmentOf(endpointsFromEnvironment()),
      TAILRACE_TOPIC_PROFILE: 'local',
      UV_THREADPOOL_SIZE: '16',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const lines: string[] = [];
  const errors: string[] = [];
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  const gone = async (): Promise<never> => {
    await once(child, 'close');
    throw new Error(`the alert processor ended: ${[...errors, ...lines.slice(-3)].join('\n')}`);
  };
  return {
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
export function killAlerts(): void {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
}
