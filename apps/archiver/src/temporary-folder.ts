import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** What still runs in the thread pool may put a file into a folder that is just being removed. */
const REMOVAL = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 } as const;

/** Runs `work` in a folder of its own, which is removed afterwards, also when the command is interrupted. */
export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  let folder: string | undefined;
  const interrupted = (signal: NodeJS.Signals): void => {
    if (folder !== undefined) rmSync(folder, REMOVAL);
    // The handler is gone, so the signal now ends the process: `exit` would wait for a query that runs in the thread pool.
    process.kill(process.pid, signal);
  };
  for (const signal of ENDING) process.once(signal, interrupted);
  try {
    folder = await mkdtemp(join(tmpdir(), 'tailrace-query-'));
    return await work(folder);
  } finally {
    if (folder !== undefined) await rm(folder, REMOVAL);
    for (const signal of ENDING) process.off(signal, interrupted);
  }
}
