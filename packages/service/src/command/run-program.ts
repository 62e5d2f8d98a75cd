import { type Command, CommanderError } from 'commander';
import { ConfigError, type Environment } from '../config/load.ts';

/** 0 good, 1 a finding or failed work, 2 wrong use, 130 interrupted. */
export const COMMAND_EXIT = { good: 0, finding: 1, failed: 1, wrongUse: 2, interrupted: 130 } as const;

/** Where a command writes (`out` its result, `note` what happens meanwhile), and what it works on. */
export interface CommandPorts {
  out(text: string): void;
  note(text: string): void;
  /** Where a progress bar is drawn; undefined where lines are to be written. */
  readonly terminal?: NodeJS.WriteStream | undefined;
  nowMs(): number;
  readonly environment: Environment;
  /** Ctrl-C. */
  readonly signal: AbortSignal;
}

type ErrorKind = abstract new (...args: never[]) => Error;

/**
 * Runs one command line (without node and script) of the program that `build` makes, which says the exit code by `done`. Resolves with it; errors are one
 * sentence. `wrongUse`: errors beside ConfigError that say that the command line asks for something that there is not.
 */
export async function runProgram(
  argv: readonly string[],
  build: (done: (code: number) => void) => Command,
  ports: { readonly note: (text: string) => void; readonly signal?: AbortSignal; readonly wrongUse?: readonly ErrorKind[] },
): Promise<number> {
  let code: number = COMMAND_EXIT.good;
  const program = build((result) => {
    code = result;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? COMMAND_EXIT.good : COMMAND_EXIT.wrongUse;
    if (ports.signal?.aborted === true) return COMMAND_EXIT.interrupted;
    ports.note(`${error instanceof ConfigError ? error.lines.join('\n') : error instanceof Error ? error.message : String(error)}\n`);
    return [ConfigError, ...(ports.wrongUse ?? [])].some((kind) => error instanceof kind) ? COMMAND_EXIT.wrongUse : COMMAND_EXIT.failed;
  }
}
