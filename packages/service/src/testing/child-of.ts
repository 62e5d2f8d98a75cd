import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

// Starts the fixture that ends with its parent, in the way its argument names, and tells its process id.
const work = process.argv[2] ?? '';
const fixture = fileURLToPath(new URL('ends-with-parent.ts', import.meta.url));
const child = spawn(process.execPath, [...process.execArgv, fixture, work], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
process.stdout.write(`${child.pid}\n`);
child.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
