import type { Environment } from '../config/load.ts';
import { COMMAND_EXIT, type CommandPorts } from './run-program.ts';

/** The ports of a command that is this process: its streams, its clock, and Ctrl-C. `hints` makes the commands that a text names fit the caller's. */
export function commandPorts(environment: Environment, hints: (text: string) => string): CommandPorts {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      // The second time nothing is waited for.
      if (interrupted.signal.aborted) process.exit(COMMAND_EXIT.interrupted);
      interrupted.abort();
    });
  return {
    out: (text) => process.stdout.write(hints(text)),
    note: (text) => process.stderr.write(hints(text)),
    terminal: process.stderr.isTTY ? process.stderr : undefined,
    nowMs: Date.now,
    environment,
    signal: interrupted.signal,
  };
}
