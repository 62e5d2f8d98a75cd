import { ENDPOINTS_FILE, hintsFor } from '@tailrace/kafka-kit';
import { endWithParent } from '@tailrace/service';
import { alertingCommand } from './commands/program.ts';
import { ownEnvironment } from './config.ts';

endWithParent();
// Started as a child process by `tailrace rules …` and `tailrace alerts …`.
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    // The second time nothing is waited for.
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort();
  });

process.exitCode = await alertingCommand(process.argv.slice(2), {
  out: (text) => process.stdout.write(hintsFor(ownEnvironment[ENDPOINTS_FILE], text)),
  note: (text) => process.stderr.write(hintsFor(ownEnvironment[ENDPOINTS_FILE], text)),
  terminal: process.stderr.isTTY ? process.stderr : undefined,
  nowMs: Date.now,
  environment: ownEnvironment,
  signal: interrupted.signal,
});
