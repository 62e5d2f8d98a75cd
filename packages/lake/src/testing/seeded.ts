import { randomInt } from 'node:crypto';
import fc from 'fast-check';

export interface Seeded<T> {
  readonly values: readonly T[];
  /** For the message of every assertion about the values: how to get them again. */
  readonly name: string;
}

/**
 * Values for one file of many rows. One run of a property is a whole file here, and shrinking a file of hundreds of rows shows nobody
 * anything: the seed and the row's number do.
 */
export function seeded<T>(arbitrary: fc.Arbitrary<T>, count: number, seed: number = randomInt(2 ** 31)): Seeded<T> {
  return { values: fc.sample(arbitrary, { numRuns: count, seed }), name: `seed ${seed}` };
}
