import { ownEnvironment } from '../config.ts';
import { replayCommand } from '../replay-command.ts';

// The command on a topic of a test's own: topic, positions' topic, then its arguments.
const [topic = '', positionsTopic = '', ...argv] = process.argv.slice(2);
process.exitCode = await replayCommand(['replay', ...argv], {
  out: (text) => process.stdout.write(text),
  note: (text) => process.stderr.write(text),
  nowMs: Date.now,
  environment: ownEnvironment,
  topics: [topic],
  positionsTopic,
  signal: new AbortController().signal,
});
