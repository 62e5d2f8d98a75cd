import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';

/** What `npm start` was asked for. */
export interface StartOptions {
  /** Sample events a second; 0 posts none. */
  readonly rate: number;
  /** A file of NDJSON events that is posted once, instead of samples. */
  readonly inputFile: string | undefined;
  /** Stop when all that was posted has reached every sink, and print the counts. */
  readonly once: boolean;
  readonly dataFolder: string | undefined;
  /** Where the addresses and credentials of what runs are written. */
  readonly endpointsFile: string | undefined;
  /** `own`: Java processes of ours. `given`: the servers that the environment names. */
  readonly servers: 'own' | 'given';
}

/** Wrong use, in one sentence; or help that was asked for and printed. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly exitCode: 0 | 2;
  constructor(message: string, exitCode: 0 | 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

const DEFAULT_RATE = 50;
const MAX_RATE = 100_000;
/** What `--once` posts when no file is given. */
export const ONCE_SAMPLES = 1000;

/** Reads the command line. Throws UsageError. */
export function parseOptions(argv: readonly string[]): StartOptions {
  const command = new Command('npm start --')
    .description('Runs the whole pipeline on this machine: Kafka, OpenSearch and S3, the services, sample traffic, and a live view.')
    .addOption(new Option('--rate <events>', `sample events a second; 0 posts none (default: ${DEFAULT_RATE})`).argParser(wholeRate))
    .option('--input <file>', 'post this file of NDJSON events once, instead of samples')
    .option('--once', 'stop when all that was posted has reached every sink; the last line is one JSON object')
    .option('--data <folder>', 'keep the data there; without it all data is removed at the end')
    .option('--endpoints <file>', 'write every address and credential of what runs to this file, as JSON')
    .addOption(
      new Option('--servers <which>', 'own Java processes, or the ones that the environment names')
        .choices(['own', 'given'])
        .default('own'),
    )
    .option('--samples', 'post samples also to given servers')
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  try {
    command.parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw new UsageError(error.message.replace(/^error: /, ''), error.exitCode === 0 ? 0 : 2);
  }
  const given = command.opts<{
    rate?: number;
    input?: string;
    once?: true;
    data?: string;
    endpoints?: string;
    servers: 'own' | 'given';
    samples?: true;
  }>();
  if (given.rate !== undefined && given.input !== undefined)
    throw new UsageError('--rate is for samples and --input replaces them: give one of the two.', 2);
  if (given.servers === 'given' && given.data !== undefined)
    throw new UsageError('--data is for own servers: given servers keep their data themselves.', 2);
  if (given.servers === 'given' && given.once && given.input === undefined && !given.samples) {
    throw new UsageError('--once has nothing to post: add --input FILE, or --samples if the given servers may be filled with samples.', 2);
  }
  if (given.input !== undefined) requireFile(given.input);
  if (given.data !== undefined) requireFolder(given.data);
  if (given.endpoints !== undefined) requireWritable(given.endpoints);
  const samples = given.servers === 'own' || given.samples === true;
  return {
    rate: given.input !== undefined || !samples ? 0 : (given.rate ?? DEFAULT_RATE),
    inputFile: given.input,
    once: given.once === true,
    dataFolder: given.data,
    endpointsFile: given.endpoints,
    servers: given.servers,
  };
}

function wholeRate(text: string): number {
  const rate = Number(text);
  if (!/^\d+$/.test(text) || rate > MAX_RATE)
    throw new InvalidArgumentError(`It must be a whole number of events a second, 0 to ${MAX_RATE}.`);
  return rate;
}

function requireFile(file: string): void {
  try {
    if (!statSync(file).isFile()) throw new Error('it is not a file');
    accessSync(file, constants.R_OK);
  } catch (error) {
    throw new UsageError(`The file ${file} of --input can not be read: ${(error as Error).message}.`, 2);
  }
}

/** Found now, not after the servers have been started. A folder that is not there yet is made later. */
function requireFolder(folder: string): void {
  const there = statSync(folder, { throwIfNoEntry: false });
  if (there !== undefined && !there.isDirectory()) throw new UsageError(`${folder} of --data is not a folder: name another one.`, 2);
}

function requireWritable(file: string): void {
  try {
    // It is replaced as a whole, which must not happen to a device.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) throw new Error('it is not a file');
    accessSync(dirname(resolve(file)), constants.W_OK);
  } catch (error) {
    throw new UsageError(`The file ${file} of --endpoints can not be written: ${(error as Error).message}.`, 2);
  }
}
