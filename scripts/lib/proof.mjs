// What the long scripts that prove something have in common: how they are asked, and how their outcome is told.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Failure } from '../../packages/stack/src/toolchain/failure.mjs';

/** The largest seed of a run, so that it can be repeated. */
const MAX_SEED = 2 ** 31 - 1;

/** Options that every such script with a short form has. */
export const COMMON_OPTIONS = /** @type {const} */ ({
  short: { type: 'boolean', default: false },
  seed: { type: 'string' },
  help: { type: 'boolean', default: false },
});

/**
 * Reads the command line.
 * @template {NonNullable<import('node:util').ParseArgsConfig['options']>} O
 * @param {string} command what a person types
 * @param {readonly string[]} argv
 * @param {O} options
 * @returns {ReturnType<typeof parseArgs<{ args: string[], options: O, strict: true }>>['values']}
 * @throws Failure with exit code 2
 */
export function readArguments(command, argv, options) {
  try {
    return parseArgs({ args: [...argv], options, strict: true }).values;
  } catch (cause) {
    const { message } = /** @type {Error} */ (cause);
    throw new Failure(`${message.replace(/\. .*/s, '')}: ${command} -- --help lists the options.`, { exitCode: 2, cause });
  }
}

/**
 * A whole number of at least 1.
 * @param {string} name of the option
 * @param {string | undefined} text as it was given
 * @param {number} usual where it was not
 * @param {number} max
 * @throws Failure with exit code 2
 */
export function wholeNumber(name, text, usual, max) {
  if (text === undefined) return usual;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value;
  throw new Failure(`--${name} is "${text}": give a whole number from 1 to ${max}.`, { exitCode: 2 });
}

/** The seed that was asked for, or one at random. @param {string | undefined} text */
export function seedOf(text) {
  return wholeNumber('seed', text, randomInt(1, 1_000_000), MAX_SEED);
}

/**
 * Reads a command line whose other options are sizes: those of the long form where it says nothing else.
 * @template {string} K
 * @param {string} command what a person types
 * @param {readonly string[]} argv
 * @param {{ readonly long: Record<K, number>, readonly short: Record<K, number>, readonly max: Record<K, number> }} sizes
 * @returns {{ readonly help: boolean, readonly seed: number } & Record<K, number>}
 * @throws Failure with exit code 2
 */
export function readSizes(command, argv, { long, short, max }) {
  const names = /** @type {K[]} */ (Object.keys(long));
  const sizes = Object.fromEntries(names.map((name) => [name, /** @type {const} */ ({ type: 'string' })]));
  const values = readArguments(command, argv, { ...COMMON_OPTIONS, ...sizes });
  const given = /** @type {Record<string, string | undefined>} */ (/** @type {unknown} */ (values));
  const usual = values.short ? short : long;
  const read = Object.fromEntries(names.map((name) => [name, wholeNumber(name, given[name], usual[name], max[name])]));
  return { help: values.help === true, seed: seedOf(given.seed), .../** @type {Record<K, number>} */ (read) };
}

/**
 * Prints a table, what is wrong, and one closing sentence; gives the exit code.
 * @param {{ readonly table: readonly (readonly [string, string])[], readonly findings: readonly string[] }} outcome
 * @param {string} clean the sentence where nothing is wrong
 */
export function tellOutcome({ table, findings }, clean) {
  const width = Math.max(...table.map(([what]) => what.length)) + 2;
  for (const [what, value] of table) process.stdout.write(`${what.padEnd(width)}${value}\n`);
  for (const finding of findings) process.stdout.write(`WRONG: ${finding}\n`);
  process.stdout.write(findings.length === 0 ? `${clean}\n` : `${findings.length} findings.\n`);
  return findings.length === 0 ? 0 : 1;
}
