import { ENDPOINTS_FILE, hintsFor } from '@tailrace/kafka-kit';
import { endWithParent } from '@tailrace/service';
import { ownEnvironment } from './config.ts';
import { lakeCommand } from './lake-command.ts';

endWithParent();
// Started as a child process by `tailrace lake …`.
process.exitCode = await lakeCommand(process.argv.slice(2), {
  out: (text) => process.stdout.write(hintsFor(ownEnvironment[ENDPOINTS_FILE], text)),
  note: (text) => process.stderr.write(hintsFor(ownEnvironment[ENDPOINTS_FILE], text)),
});
