import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { together } from './steps.mjs';

const never = new AbortController().signal;

test('when one piece fails the others are ended, and its failure is told after the last has ended', async () => {
  /** @type {string[]} */
  const ended = [];
  const work = together(never, (signal) => [
    delay(5).then(() => {
      throw new Error('the cause');
    }),
    delay(60_000, undefined, { signal }).catch(async () => {
      await delay(30);
      ended.push('slow');
      throw new Error('a consequence');
    }),
  ]);
  await expect(work).rejects.toThrow('the cause');
  expect(ended).toEqual(['slow']);
});

test('when all is stopped from outside, that is told, not what followed from it', async () => {
  const stop = new AbortController();
  const work = together(stop.signal, (signal) => [delay(60_000, undefined, { signal })]);
  stop.abort(new Error('stopped'));
  await expect(work).rejects.toThrow('stopped');
});
