import { expect, it } from 'vitest';
import { Turns } from './turns.ts';

it('runs so many at a time, in order, and a failure frees its turn', async () => {
  const turns = new Turns(2);
  const begun: number[] = [];
  const ends: ((fault?: Error) => void)[] = [];
  const works = [0, 1, 2, 3].map((i) =>
    turns.run(() => {
      begun.push(i);
      return new Promise<number>((resolve, reject) => ends.push((fault) => (fault ? reject(fault) : resolve(i))));
    }),
  );
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  ends[0]?.(new Error('away'));
  await expect(works[0]).rejects.toThrow('away');
  expect(begun).toEqual([0, 1, 2]);
  ends[1]?.();
  ends[2]?.();
  await Promise.all(works.slice(1, 3));
  expect(begun).toEqual([0, 1, 2, 3]);
  ends[3]?.();
  expect(await works[3]).toBe(3);
});
