// The command line of `npm start`. Plain JavaScript on Node's own modules: it is read before anything is installed or built, so that a
// slip of the fingers is told at once and not after a long first start.
import { closeSync, openSync, rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { inspectEndpointsFile } from './endpoints-owner.mjs';
import { inspectInput } from './input-file.mjs';

/**
 * What `npm start` was asked for.
 * @typedef {object} StartOptions
 * @property {number} rate sample events a second; 0 posts none
 * @property {string | undefined} inputFile a file of NDJSON events that is posted once, instead of samples
 * @property {boolean} once stop when all that was posted has reached every sink, and print the counts
 * @property {string | undefined} dataFolder
 * @property {string | undefined} endpointsFile where the addresses and credentials of what runs are written
 * @property {1 | 3} brokers how many Kafka brokers of ours; three keep each record three times and go on without one of them
 * @property {'own' | 'given'} servers `own`: Java processes of ours. `given`: the servers that the environment names
 */

const DEFAULT_RATE = 50;
const MAX_RATE = 100_000;
/** What `--once` posts when no file is given. */
export const ONCE_SAMPLES = 1000;

/** Every option: the help, the parser and the check for unknown ones are made from it. */
const OPTIONS = /** @type {const} */ ({
  rate: { type: 'string', value: '<events>', about: `sample events a second; 0 posts none (default: ${DEFAULT_RATE})` },
  input: { type: 'string', value: '<file>', about: 'post this file of NDJSON events once, instead of samples' },
  once: {
    type: 'boolean',
    value: '',
    about: 'stop when all that was posted has reached every sink; the last line, on standard output, is one JSON object',
  },
  data: {
    type: 'string',
    value: '<folder>',
    about: 'keep the data in this empty folder, or go on with what an earlier start kept there; without it all data is removed',
  },
  endpoints: {
    type: 'string',
    value: '<file>',
    about: 'write every address and credential of what runs to this new file, as JSON; it goes at the end',
  },
  brokers: {
    type: 'string',
    value: '<1|3>',
    about: 'Kafka brokers (default: 1); with 3 each record is kept three times, and one broker may be away',
  },
  servers: { type: 'string', value: '<own|given>', about: 'own Java processes (default), or the servers that the environment names' },
  samples: { type: 'boolean', value: '', about: 'post samples also to given servers' },
  help: { type: 'boolean', value: '', about: 'show this' },
});

const HELP = `Usage: npm start -- [options]

Runs the whole pipeline on this machine: Kafka, OpenSearch and S3, the services, sample traffic, and a live view.

Options:
${Object.entries(OPTIONS)
  .map(([name, { value, about }]) => `  ${`--${name} ${value}`.padEnd(24)}${about}`)
  .join('\n')}

Exit codes of --once: 0 everything posted was accepted and has arrived, 1 an event was rejected or the counts differ, 2 wrong use.
Without --once it runs until Ctrl-C or a signal, and ends with 130.
`;

/** Wrong use, in one sentence. */
export class UsageError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'UsageError';
    this.exitCode = /** @type {const} */ (2);
  }

  describe() {
    return `${this.message}\n(npm start -- --help lists the options)`;
  }
}

/**
 * Reads the command line.
 * @param {readonly string[]} argv
 * @returns {StartOptions | { help: string }} the options, or the help that was asked for
 * @throws UsageError
 */
export function parseOptions(argv) {
  const given = read(argv);
  if (given.help) return { help: HELP };
  const { input, data, endpoints } = given;
  const once = given.once === true;
  const servers = oneOf('servers', given.servers ?? 'own', ['own', 'given']);
  const brokers = oneOf('brokers', given.brokers ?? '1', ['1', '3']);
  const samples = servers === 'own' || given.samples === true;
  const rate = given.rate === undefined ? undefined : wholeRate(given.rate);
  refuseWithoutEffect({ rate, input, data, once, servers, samples: given.samples === true, brokers: given.brokers });
  if (input !== undefined) requireEvents(input);
  if (endpoints !== undefined) requireWritable(endpoints);
  return {
    rate: input !== undefined || !samples ? 0 : (rate ?? DEFAULT_RATE),
    inputFile: input,
    once,
    dataFolder: data,
    endpointsFile: endpoints,
    brokers: brokers === '1' ? 1 : 3,
    servers,
  };
}

/**
 * The values by name. Node's own strict mode is not used: it takes `--rate -1` for two options, and explains itself with its own code.
 * @param {readonly string[]} argv
 */
function read(argv) {
  const { tokens } = parseArgs({ args: [...argv], options: OPTIONS, strict: false, allowPositionals: true, tokens: true });
  /** @type {{ rate?: string, input?: string, data?: string, endpoints?: string, brokers?: string, servers?: string, once?: true, samples?: true, help?: true }} */
  const given = {};
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') throw new UsageError(`too many arguments: '${token.value}' is no option.`);
    const option = Object.hasOwn(OPTIONS, token.name) ? OPTIONS[/** @type {keyof typeof OPTIONS} */ (token.name)] : undefined;
    if (option === undefined || !token.rawName.startsWith('--')) throw new UsageError(`unknown option '${token.rawName}'`);
    if (option.type === 'boolean' && token.value !== undefined) throw new UsageError(`option '--${token.name}' takes no value.`);
    if (option.type === 'string' && (token.value ?? '') === '') {
      throw new UsageError(`option '--${token.name} ${option.value}' argument missing`);
    }
    if (option.type === 'string' && Object.hasOwn(given, token.name)) {
      throw new UsageError(`option '--${token.name} ${option.value}' is given twice: give it once.`);
    }
    Object.assign(given, { [token.name]: token.value ?? true });
  }
  return given;
}

/**
 * An option that would do nothing is a misunderstanding, and is told.
 * @param {{ rate: number | undefined, input: string | undefined, data: string | undefined, once: boolean, servers: 'own' | 'given', samples: boolean, brokers: string | undefined }} given
 */
function refuseWithoutEffect({ rate, input, data, once, servers, samples, brokers }) {
  if (rate !== undefined && input !== undefined)
    throw new UsageError('--rate is for samples and --input replaces them: give one of the two.');
  if (samples && input !== undefined) throw new UsageError('--samples asks for samples and --input replaces them: give one of the two.');
  if (samples && servers === 'own') throw new UsageError('--samples is for --servers given: own servers get samples anyway.');
  if (servers === 'given' && data !== undefined)
    throw new UsageError('--data is for own servers: given servers keep their data themselves.');
  if (servers === 'given' && brokers !== undefined)
    throw new UsageError('--brokers is for own servers: a given Kafka has the brokers that it has.');
  if (servers === 'given' && once && input === undefined && !samples) {
    throw new UsageError('--once has nothing to post: add --input FILE, or --samples if the given servers may be filled with samples.');
  }
  if (rate !== undefined && once)
    throw new UsageError(`--rate is for traffic that goes on: --once posts ${ONCE_SAMPLES} samples, or a file, at once.`);
  if (rate !== undefined && servers === 'given' && !samples) {
    throw new UsageError('--rate is for samples, and given servers get none: add --samples if they may be filled with samples.');
  }
}

/** @param {string} text */
function wholeRate(text) {
  const rate = Number(text);
  if (/^\d+$/.test(text) && rate <= MAX_RATE) return rate;
  throw new UsageError(
    `option '--rate <events>' argument '${text}' is invalid. It must be a whole number of events a second, 0 to ${MAX_RATE}.`,
  );
}

/**
 * @template {string} T
 * @param {string} name @param {string} text @param {readonly T[]} choices
 */
function oneOf(name, text, choices) {
  const chosen = choices.find((choice) => choice === text);
  if (chosen !== undefined) return chosen;
  throw new UsageError(`option '--${name}' argument '${text}' is invalid. Allowed choices are ${choices.join(', ')}.`);
}

/** @param {string} file */
function requireEvents(file) {
  const refusal = inspectInput(file);
  if (refusal !== undefined) throw new UsageError(refusal);
}

/** @param {string} file */
function requireWritable(file) {
  // It is replaced as a whole and removed at the end, which must not happen to what is not ours.
  const found = inspectEndpointsFile(file);
  if (found.kind === 'refused') throw new UsageError(found.sentence);
  try {
    // By a file: permissions alone do not say it (root may everything, and /proc takes no files).
    const probe = `${file}.${process.pid}.probe`;
    closeSync(openSync(probe, 'wx', 0o600));
    rmSync(probe);
  } catch (error) {
    throw new UsageError(`The file ${file} of --endpoints can not be written: ${/** @type {Error} */ (error).message}.`);
  }
}
