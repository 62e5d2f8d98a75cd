import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Environment } from './config.ts';

/** Lets an app only look whether its command line makes sense: exit code 2, and a sentence, where it does not. */
export const CHECK_ONLY = '--check-only';

/** Nouns that an app owns: its own `cli.ts` runs in a child process, so that this command loads no app. `lakeVerbs` read the lake; `checks`: it knows CHECK_ONLY. */
export const appNouns = [
  {
    noun: 'lake',
    app: 'archiver',
    verbs: ['audit', 'query', 'ledger'],
    lakeVerbs: ['audit', 'query', 'ledger'],
    about: 'Look into the lake: audit, query, ledger show.',
    checks: false,
  },
  {
    noun: 'replay',
    app: 'replayer',
    verbs: ['window', 'plan', 'run', 'receipt', 'cancel', 'show', 'ls'],
    lakeVerbs: ['window', 'plan', 'run', 'receipt', 'cancel', 'show', 'ls'],
    about: 'Bring a window of time back into one consumer: window, plan, run, receipt, cancel, show, ls.',
    checks: true,
  },
  {
    noun: 'rules',
    app: 'alert-processor',
    verbs: ['check', 'test', 'backtest'],
    lakeVerbs: ['backtest'],
    about: 'What alerts are made by: check, test, backtest.',
    checks: true,
  },
  {
    noun: 'alerts',
    app: 'alert-processor',
    verbs: ['ls', 'show', 'silence', 'unsilence', 'silences', 'try'],
    lakeVerbs: [],
    about: 'Look at alerts, keep them quiet for a while, and try notifiers: ls, show, silence, unsilence, silences, try.',
    checks: true,
  },
] as const satisfies readonly AppNoun[];

interface AppNoun {
  readonly noun: string;
  readonly app: string;
  readonly verbs: readonly string[];
  readonly lakeVerbs: readonly string[];
  readonly about: string;
  readonly checks: boolean;
}

/** Runs the app's command line with these arguments; resolves with its exit code. It ends with this process, also where that is killed: the channel tells it. */
export function runApp(app: string, args: readonly string[], environment: Environment): Promise<number> {
  const script = fileURLToPath(new URL(`../../${app}/dist/cli.js`, import.meta.url));
  if (!existsSync(script)) throw new Error(`The ${app} is not built: run npm run build.`);
  // Ctrl-C goes to the app, too: it says how far it got, and this waits for that.
  const stay = (): void => {};
  process.on('SIGINT', stay);
  const ended = new Promise<number>((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], { env: environment, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)));
  });
  return ended.finally(() => process.off('SIGINT', stay));
}
