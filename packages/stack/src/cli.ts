import { renameSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { environmentOf, processEnvironment } from './config.ts';
import type { BrokerCount } from './instances.ts';
import { type Stack, startStack } from './stack.ts';
import { describeFailure, exitCodeOf, Failure } from './toolchain/failure.mjs';
import { runGuarded } from './toolchain/processes.mjs';

// Not --env-file: Node takes an option of that name for itself, even behind the script's name.
const USAGE = `Usage: node packages/stack/dist/cli.js [--brokers 1|3] [--write-env FILE] [--data DIR] -- COMMAND [ARG...]
Starts Kafka, OpenSearch and an S3 server, runs COMMAND with their endpoints in its environment, stops them, and exits as COMMAND did.
  --brokers 1|3    how many Kafka brokers (default: 1)
  --write-env FILE  writes the endpoints as KEY=VALUE lines once all servers answer
  --data DIR       keeps the data in DIR; without it the data is removed at the end`;

interface Arguments {
  readonly envFile: string | undefined;
  readonly dataFolder: string | undefined;
  readonly brokers: BrokerCount;
  readonly command: string;
  readonly commandArgs: readonly string[];
}

/** @throws Error with one sentence when the command line is wrong */
function parse(argv: readonly string[]): Arguments {
  const split = argv.indexOf('--');
  if (split < 0) throw new Error('no command was given: put it behind `--`');
  const { values } = parseArgs({
    args: argv.slice(0, split),
    options: { brokers: { type: 'string', default: '1' }, 'write-env': { type: 'string' }, data: { type: 'string' } },
    strict: true,
  });
  const [command, ...commandArgs] = argv.slice(split + 1);
  if (command === undefined) throw new Error('no command was given behind `--`');
  if (values.brokers !== '1' && values.brokers !== '3') throw new Error(`--brokers is "${values.brokers}": give 1 or 3`);
  return { envFile: values['write-env'], dataFolder: values.data, brokers: values.brokers === '1' ? 1 : 3, command, commandArgs };
}

function writeEnvFile(file: string, environment: Readonly<Record<string, string>>): void {
  const lines = Object.entries(environment).map(([name, value]) => `${name}=${value}\n`);
  // Renamed into place: a reader that waits for the file never sees half of it. For us alone, since it holds a secret.
  writeFileSync(`${file}.partial`, lines.join(''), { mode: 0o600 });
  renameSync(`${file}.partial`, file);
}

async function runWithStack(args: Arguments, signal: AbortSignal): Promise<number> {
  const stack: Stack = await startStack({
    jit: 'fast-start',
    brokers: args.brokers,
    signal,
    report: (line) => process.stderr.write(`stack: ${line}\n`),
    ...(args.dataFolder === undefined ? {} : { dataFolder: args.dataFolder }),
  });
  const serverFailed = new AbortController();
  void stack.failed.then((failure) => serverFailed.abort(failure));
  try {
    // Topics have to fit the brokers: three copies on one broker can not be made.
    const endpoints = { ...environmentOf(stack.endpoints), TAILRACE_TOPIC_PROFILE: args.brokers === 1 ? 'local' : 'cluster' };
    if (args.envFile !== undefined) writeEnvFile(args.envFile, endpoints);
    return await runGuarded(args.command, args.commandArgs, {
      env: { ...processEnvironment(), ...endpoints },
      signal: AbortSignal.any([signal, serverFailed.signal]),
    });
  } finally {
    await stack.stop();
  }
}

async function main(): Promise<number> {
  let args: Arguments;
  try {
    args = parse(process.argv.slice(2));
  } catch (wrong) {
    process.stderr.write(`${(wrong as Error).message}\n${USAGE}\n`);
    return 2;
  }
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort(new Failure(`Stopped by ${name}.`)));
  try {
    return await runWithStack(args, stop.signal);
  } catch (failed) {
    process.stderr.write(`${describeFailure(failed)}\n`);
    return stop.signal.aborted ? 130 : exitCodeOf(failed);
  }
}

process.exitCode = await main();
