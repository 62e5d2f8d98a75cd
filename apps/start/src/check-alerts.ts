import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Failure } from '@tailrace/stack';
import { keptRules, notifiersFile, SHIPPED_RULES } from './alert-settings.ts';
import type { Environment } from './config.ts';
import type { StartOptions } from './options.mjs';

const COMMAND = fileURLToPath(new URL('../../alert-processor/dist/cli.js', import.meta.url));
/** The address of the view is not known yet, and nothing is sent. */
const VIEW = notifiersFile('http://127.0.0.1:1/');

interface Checked {
  readonly problems: readonly { readonly file: string; readonly line: number; readonly column: number; readonly sentence: string }[];
}

/**
 * Looks at rules and notifiers as the alert processor will, before any server is started: it would refuse them only once all others stand.
 * @throws Failure with exit code 2, one problem a line
 */
export async function checkAlerts(
  { dataFolder }: Pick<StartOptions, 'dataFolder'>,
  environment: Environment,
  signal: AbortSignal,
): Promise<void> {
  // Nothing in it is not set, as for the services.
  const given = environment.ALERT_RULES || (dataFolder === undefined ? undefined : keptRules(dataFolder));
  const notifiers = environment.ALERT_NOTIFIERS || undefined;
  if (given === undefined && notifiers === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), 'tailrace-start-'));
  try {
    const view = join(folder, 'alert-notifiers.yaml');
    writeFileSync(view, VIEW);
    const told = notifiersTold(environment) ? (notifiers ?? view) : '';
    const problems = await problemsOf(given ?? SHIPPED_RULES, { ...environment, ALERT_NOTIFIERS: told }, signal);
    if (problems.length === 0) return;
    const isView = notifiers === undefined && problems.some((line) => line.includes('There is no notifier'));
    const hint = isView
      ? ['live-view is the view of npm start, and the only one it tells without ALERT_NOTIFIERS: name your notifiers there.']
      : [];
    throw new Failure(`The alert processor would refuse what it is given:\n${[...problems, ...hint].join('\n')}`, { exitCode: 2 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A process that only counts tells nobody. */
function notifiersTold({ ALERT_STAGES }: Environment): boolean {
  return !ALERT_STAGES || ALERT_STAGES.includes('decide');
}

/** A line for each. */
async function problemsOf(rules: string, environment: Environment, signal: AbortSignal): Promise<readonly string[]> {
  try {
    await promisify(execFile)(process.execPath, [COMMAND, 'rules', 'check', '--json', '--', rules], { env: environment, signal });
    return [];
  } catch (fault) {
    signal.throwIfAborted();
    const { code, stdout = '', stderr = '' } = fault as { readonly code?: unknown; readonly stdout?: string; readonly stderr?: string };
    // What it can not read at all, it says in plain words.
    if (code === 2) return stderr.trimEnd().split('\n');
    // How long the topic keeps its records is known only once there is one: the alert processor judges that.
    if (code === 1 && stdout !== '')
      return (JSON.parse(stdout) as Checked).problems.map(({ file, line, column, sentence }) => `${file}:${line}:${column}: ${sentence}`);
    throw fault;
  }
}
