import { createInterface } from 'node:readline/promises';

/** Asks at the terminal; undefined where there is none. Only y and yes mean yes. */
export function terminalConfirm(): ((question: string) => Promise<boolean>) | undefined {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  return async (question) => {
    // On standard error: what stands on standard output may be piped.
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    // Ctrl-D answers nothing: without this the process would end as if all were well.
    const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    try {
      return /^y(es)?$/i.test((await Promise.race([terminal.question(question), ended])).trim());
    } finally {
      terminal.close();
    }
  };
}
