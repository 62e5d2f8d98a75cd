import { streams } from '@tailrace/events';
import { STREAM } from '@tailrace/lake';
import { endWithParent } from '@tailrace/service';
import { ownEnvironment } from './config.ts';
import { replayCommand } from './replay-command.ts';

endWithParent();
// Started as a child process by `tailrace replay …`.
process.exitCode = await replayCommand(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  note: (text) => process.stderr.write(text),
  nowMs: Date.now,
  environment: ownEnvironment,
  topics: streams[STREAM] ?? [],
});
