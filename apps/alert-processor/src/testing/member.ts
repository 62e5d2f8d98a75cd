import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { PanesProcessOptions } from './panes-process.ts';
import type { PanesRig } from './panes-rig.ts';

const main = fileURLToPath(new URL('./panes-process.ts', import.meta.url));
const children = new Set<ChildProcess>();

/** A member of stage 1 as a process of its own. Resolves once it reads so many partitions. */
export async function startMember(
  rig: PanesRig,
  partitions: number,
  options: Pick<PanesProcessOptions, 'paneMs' | 'latenessMs' | 'instanceId'>,
): Promise<ChildProcess> {
  const { settings: kafka, group, events, partials: partialsTopic } = rig;
  const told: PanesProcessOptions = { kafka, group, topics: [events], partialsTopic, tickMs: 50, ...options };
  return await startProcess(main, told, (lines) => lines.size >= partitions);
}

/** A script of these sources as a process of its own, with its settings as JSON. Resolves once what it wrote, each line once, says that it runs. */
export async function startProcess(script: string, told: object, runs: (lines: ReadonlySet<string>) => boolean): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--conditions=tailrace-src', '--import', 'tsx', script, JSON.stringify(told)], {
    env: { PATH: '/usr/bin:/bin', UV_THREADPOOL_SIZE: '16' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.add(child);
  const written = new Set<string>();
  const lines = createInterface({ input: child.stdout }).on('line', (line) => written.add(line));
  const gone = once(child, 'close').then(() => {
    throw new Error('the member ended');
  });
  while (!runs(written)) await Promise.race([once(lines, 'line'), gone]);
  // Safe: it is killed in the end, and nobody waits for this any more.
  gone.catch(() => {});
  return child;
}

export async function killMember(child: ChildProcess): Promise<void> {
  const gone = once(child, 'close');
  child.kill('SIGKILL');
  await gone;
  children.delete(child);
}

/** Ends what a test has left running. */
export function killMembers(): void {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
}
