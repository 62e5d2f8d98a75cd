import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { runFromSources, spawnFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment, environmentOf } from '@tailrace/stack';

type Environment = Readonly<Record<string, string>>;

const script = (name: 'main.ts' | 'cli.ts'): string => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** The archiver as a process of its own, run from its sources. */
export function runArchiver(environment: Environment) {
  const own = { TAILRACE_TOPIC_PROFILE: 'local', ARCHIVER_IDLE_MS: '500', ...environment };
  return runFromSources('archiver', script('main.ts'), { ...environmentOf(endpointsFromEnvironment()), ...own });
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
  const child = spawnFromSources(script('cli.ts'), ['lake', ...args], { ...environmentOf(endpointsFromEnvironment()), ...environment });
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
