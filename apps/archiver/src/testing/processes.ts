import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readListening } from '@tailrace/service';
import { endpointsFromEnvironment, environmentOf } from '@tailrace/stack';

type Environment = Readonly<Record<string, string>>;

const running = new Set<ChildProcess>();

function run(script: 'main.ts' | 'cli.ts', args: readonly string[], environment: Environment): ChildProcess {
  const path = fileURLToPath(new URL(`../${script}`, import.meta.url));
  const child = spawn(process.execPath, ['--conditions=tailrace-src', '--import', 'tsx', path, ...args], {
    env: { PATH: '/usr/bin:/bin', ...environmentOf(endpointsFromEnvironment()), UV_THREADPOOL_SIZE: '16', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  return child;
}

/** The archiver as a process of its own, run from its sources. */
export function runArchiver(environment: Environment) {
  const child = run('main.ts', [], { TAILRACE_TOPIC_PROFILE: 'local', ARCHIVER_IDLE_MS: '500', ...environment });
  const lines: string[] = [];
  const errors: string[] = [];
  if (child.stdout === null || child.stderr === null) throw new Error('no pipes');
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  const gone = async (): Promise<never> => {
    await once(child, 'close');
    throw new Error(`the archiver ended: ${[...errors, ...lines.slice(-3)].join('\n')}`);
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

export interface CommandResult {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

/** Runs one `lake …` command to its end. `noted` is told what it says on standard error meanwhile. */
export async function runLake(
  args: readonly string[],
  environment: Environment,
  noted: (text: string, child: ChildProcess) => void = () => {},
): Promise<CommandResult> {
  const child = run('cli.ts', ['lake', ...args], environment);
  let out = '';
  let errors = '';
  child.stdout?.on('data', (text: Buffer) => {
    out += text.toString();
  });
  child.stderr?.on('data', (text: Buffer) => {
    errors += text.toString();
    noted(errors, child);
  });
  await once(child, 'close');
  return { code: child.exitCode, out, errors };
}

/** Ends what a test has left running. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
}
