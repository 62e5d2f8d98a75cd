import { POSITIONS_TOPIC, streams } from '@tailrace/events';
import { ENDPOINTS_FILE, hintsFor } from '@tailrace/kafka-kit';
import { STREAM } from '@tailrace/lake';
import { endWithParent } from '@tailrace/service';
import { ownEnvironment } from './config.ts';
import { replayCommand } from './replay-command.ts';

endWithParent();
// Started as a child process by `tailrace replay …`.
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    // The second time nothing is waited for.
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort();
  });

process.exitCode = await replayCommand(process.argv.slice(2), {
  out: (text) => process.stdout.write(hintsFor(ownEnvironment[ENDPOINTS_FILE], text)),
  note: (text) => process.stderr.write(hintsFor(ownEnvironment[ENDPOINTS_FILE], text)),
  terminal: process.stderr.isTTY ? process.stderr : undefined,
  nowMs: Date.now,
  environment: ownEnvironment,
  topics: streams[STREAM] ?? [],
  positionsTopic: POSITIONS_TOPIC,
  signal: interrupted.signal,
});
