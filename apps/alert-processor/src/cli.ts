import { ENDPOINTS_FILE, hintsFor } from '@tailrace/kafka-kit';
import { commandPorts, endWithParent } from '@tailrace/service';
import { alertingCommand } from './commands/program.ts';
import { ownEnvironment } from './config.ts';

endWithParent();
// Started as a child process by `tailrace rules …` and `tailrace alerts …`.
const ports = commandPorts(ownEnvironment, (text) => hintsFor(ownEnvironment[ENDPOINTS_FILE], text));
process.exitCode = await alertingCommand(process.argv.slice(2), ports);
