import { POSITIONS_TOPIC, streams } from '@tailrace/events';
import { ENDPOINTS_FILE, hintsFor } from '@tailrace/kafka-kit';
import { STREAM } from '@tailrace/lake';
import { commandPorts, endWithParent } from '@tailrace/service';
import { ownEnvironment } from './config.ts';
import { replayCommand } from './replay-command.ts';

endWithParent();
// Started as a child process by `tailrace replay …`.
const ports = commandPorts(ownEnvironment, (text) => hintsFor(ownEnvironment[ENDPOINTS_FILE], text));
process.exitCode = await replayCommand(process.argv.slice(2), {
  ...ports,
  topics: streams[STREAM] ?? [],
  positionsTopic: POSITIONS_TOPIC,
});
