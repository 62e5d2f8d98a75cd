import { expect, it } from 'vitest';
import { BulkTurns } from './bulk-turns.ts';

it('so many bulks at a time, in order; who is given up while it waits takes no turn from the others', async () => {
  const turns = new BulkTurns(2);
  const never = new AbortController().signal;
  const givenUp = new AbortController();
  const begun: string[] = [];
  const take = async (name: string, signal = never): Promise<() => void> => {
    const end = await turns.take(signal);
    begun.push(name);
    return end;
  };
  const [endA] = await Promise.all([take('a'), take('b')]);
  const waits = take('c', givenUp.signal);
  const behind = take('d');
  givenUp.abort();
  await expect(waits).rejects.toThrow('given up');
  expect(begun).toEqual(['a', 'b']);
  endA?.();
  await behind;
  expect(begun).toEqual(['a', 'b', 'd']);
});
