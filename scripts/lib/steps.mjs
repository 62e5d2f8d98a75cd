// What a person sees of the preparation: each step that takes long in one line when it begins, and in one line with its seconds when it is done.
import { performance } from 'node:perf_hooks';

/**
 * @typedef {object} Steps
 * @property {<T>(what: string, work: () => Promise<T>) => Promise<T>} step
 * @property {(line: string) => void} say
 */

/**
 * @param {(line: string) => void} print
 * @returns {Steps}
 */
export function createSteps(print) {
  const startedMs = performance.now();
  const clock = () => `${((performance.now() - startedMs) / 1000).toFixed(1).padStart(6)} s`;
  return {
    say: (line) => print(`${clock()}  ${line}`),
    async step(what, work) {
      const beganMs = performance.now();
      print(`${clock()}  ${what} ...`);
      const result = await work();
      print(`${clock()}  ${what}: done in ${((performance.now() - beganMs) / 1000).toFixed(1)} s`);
      return result;
    },
  };
}

/**
 * Waits for pieces of work that run side by side. When one fails the others are ended, and its failure is thrown once all have ended:
 * nothing runs on behind the message that says what went wrong.
 * @param {AbortSignal} outer
 * @param {(signal: AbortSignal) => readonly Promise<unknown>[]} start begins all of it, with the signal that ends it
 */
export async function together(outer, start) {
  const failing = new AbortController();
  const works = start(AbortSignal.any([outer, failing.signal]));
  await Promise.allSettled(
    works.map((work) =>
      work.catch((failed) => {
        failing.abort(failed);
      }),
    ),
  );
  outer.throwIfAborted();
  failing.signal.throwIfAborted();
}
