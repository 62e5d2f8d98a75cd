import { type ChildProcess, spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { environmentWith } from '../config.ts';
import { until } from '../machine/until.ts';
import { ROOT } from '../root.ts';

export interface CommandOptions {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

/** A command that runs in the background, with what it printed. It ends with this process: it then can not print any more. */
export class Command {
  readonly child: ChildProcess;
  #stdout = '';
  #stderr = '';
  #ended: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;

  constructor(program: string, args: readonly string[], { environment = {}, cwd = ROOT }: CommandOptions = {}) {
    this.child = spawn(program, args, { cwd, env: environmentWith(environment), stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    // EPIPE of a command that has ended: its end is what is looked at.
    this.child.stdin?.on('error', () => {});
    this.child.once('error', (fault) => {
      this.#stderr += `${fault.message}\n`;
      this.#ended ??= { code: null, signal: null };
    });
    this.child.once('close', (code, signal) => {
      this.#ended = { code, signal };
    });
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error(`the command was not started: ${this.#stderr}`);
    return this.child.pid;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Everything it printed, without colours and cursor moves. */
  get printed(): string {
    return stripVTControlCharacters(`${this.#stdout}${this.#stderr}`).replaceAll('\r', '');
  }

  get running(): boolean {
    return this.#ended === undefined;
  }

  /** Waits until it has printed what a pattern describes, behind the first `from` characters. */
  async prints(pattern: RegExp, limitMs: number, from = 0): Promise<void> {
    await until(`${pattern} printed`, limitMs, () => {
      if (pattern.test(this.printed.slice(from))) return true;
      if (!this.running) throw new Error(`it ended first, with: ${this.printed.slice(-2000)}`);
      return false;
    });
  }

  /** Waits for its end, all its output read. */
  async ends(limitMs: number): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }> {
    return await until('the end of the command', limitMs, () => this.#ended);
  }
}

/** Runs a command to its end. */
export async function run(program: string, args: readonly string[], options: CommandOptions & { readonly limitMs: number }) {
  const command = new Command(program, args, options);
  command.child.stdin?.end();
  try {
    const { code } = await command.ends(options.limitMs);
    return { code, stdout: command.stdout, stderr: command.stderr };
  } finally {
    command.child.kill('SIGKILL');
  }
}

/** Runs `tailrace` against the pipeline of an endpoints file. */
export function tailrace(endpointsFile: string, ...args: string[]) {
  return run(process.execPath, ['node_modules/.bin/tailrace', '--endpoints', endpointsFile, ...args], { limitMs: 180_000 });
}
