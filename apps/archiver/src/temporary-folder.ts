import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs `work` in a folder of its own, which is removed afterwards, also when the command is interrupted. */
export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-query-'));
  const interrupted = (signal: NodeJS.Signals): void => {
    rmSync(folder, { recursive: true, force: true });
    // The handler is gone, so the signal now ends the process: `exit` would wait for a query that runs in the thread pool.
    process.kill(process.pid, signal);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    return await work(folder);
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
    await rm(folder, { recursive: true });
  }
}
