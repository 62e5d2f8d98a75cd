import { endWithParent } from '@tailrace/service';
import { lakeCommand } from './lake-command.ts';

endWithParent();
// Started as a child process by `tailrace lake …`.
process.exitCode = await lakeCommand(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  note: (text) => process.stderr.write(text),
});
