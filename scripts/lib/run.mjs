// How each script here begins and ends.
import { describeFailure, exitCodeOf, Failure } from '../../packages/stack/src/toolchain/failure.mjs';
import { EXIT_STOPPED, stopSignal } from './stop.mjs';

/** What may still be open behind a finished script is nothing that anybody waits for. */
const LINGER_MS = 2_000;

/**
 * @typedef {object} ScriptContext
 * @property {Readonly<Record<string, string | undefined>>} env
 * @property {AbortSignal} signal aborted when all has to stop
 * @property {(line: string) => void} print for people; standard output is left to results
 */

/**
 * Runs a script's work: its result is the exit code, a failure is told in one sentence (1), being stopped is told too (130).
 * @param {(context: ScriptContext) => Promise<number>} work
 */
export async function runScript(work) {
  const env = process.env;
  // The AWS SDK announces at each start of each process that Node 20 will not be served for ever.
  env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  const signal = stopSignal(env);
  const print = (/** @type {string} */ line) => process.stderr.write(`${line}\n`);
  try {
    process.exitCode = await work({ env, signal, print });
  } catch (failed) {
    print(describeFailure(failed));
    process.exitCode = signal.aborted ? EXIT_STOPPED : exitCodeOf(failed);
  }
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

/**
 * For a script without options: one that is given and passed over in silence looks as if it had worked.
 * @param {string} command what a person types
 * @param {readonly string[]} argv
 * @throws Failure with exit code 2 on any word
 */
export function takesNothing(command, argv = process.argv.slice(2)) {
  if (argv.length > 0) throw new Failure(`${command} takes no options, and "${argv[0]}" was given: leave it out.`, { exitCode: 2 });
}
