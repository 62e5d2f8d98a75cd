import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readListening } from '@tailrace/service';
import { endpointsFromEnvironment, environmentOf } from '@tailrace/stack';

const running = new Set<ChildProcess>();

/** A service as a process of its own, run from its sources against the test's servers. */
export function runService(app: 'alert-processor' | 'ingest-gateway', environment: Readonly<Record<string, string>>) {
  const main = fileURLToPath(new URL(`../../../${app}/src/main.ts`, import.meta.url));
  const child = spawn(process.execPath, ['--conditions=tailrace-src', '--import', 'tsx', main], {
    env: {
      PATH: '/usr/bin:/bin',
      ...environmentOf(endpointsFromEnvironment()),
      TAILRACE_TOPIC_PROFILE: 'local',
      HEALTH_PORT: '0',
      UV_THREADPOOL_SIZE: '16',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const urlOf = (server: string): string | undefined => lines.map(readListening).find((found) => found?.server === server)?.url;
  return {
    lines,
    /** The address of one of its servers, once its log has said it. */
    async url(server: 'health' | 'gateway'): Promise<string> {
      for (let url = urlOf(server); ; url = urlOf(server)) {
        if (url !== undefined) return url;
        await Promise.race([once(output, 'line'), gone(app, child, lines)]);
      }
    },
    /** Its page of metrics. */
    async metrics(): Promise<string> {
      return await (await fetch(`${await this.url('health')}/metrics`)).text();
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    },
  };
}

async function gone(app: string, child: ChildProcess, lines: readonly string[]): Promise<never> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  throw new Error(`the ${app} ended: ${lines.slice(-3).join('\n')}`);
}

/** Ends what a test has left running. */
export function killServices(): void {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
}
