import { streams } from '@tailrace/events';
import { STREAM } from '@tailrace/lake';
import { ownEnvironment } from './config.ts';
import { replayCommand } from './replay-command.ts';

// Started as a child process by `tailrace replay …`.
process.exitCode = await replayCommand(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  note: (text) => process.stderr.write(text),
  nowMs: Date.now,
  environment: ownEnvironment,
  topics: streams[STREAM] ?? [],
});
