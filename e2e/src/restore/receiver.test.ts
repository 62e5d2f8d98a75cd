import { expect, it } from 'vitest';
import { Receiver } from './receiver.ts';

/** A batch of records of one partition: [offset, key, number]. */
function batch(records: readonly (readonly [offset: number, key: string | null, number: number])[], partition = 0) {
  const at = (i: number) => records[i] ?? [0, null, 0];
  return {
    source: { topic: 't', partition, incarnation: 'i' },
    length: records.length,
    offset: (i: number) => at(i)[0],
    key: (i: number) => (at(i)[1] === null ? null : Buffer.from(String(at(i)[1]))),
    value: (i: number) => Buffer.from(`{"attributes":{"n":${at(i)[2]}}}`),
  } as unknown as Parameters<Receiver['write']>[0];
}

it('finds nothing where each number comes once and rises within its key', async () => {
  const receiver = new Receiver(4);
  await receiver.write(
    batch([
      [0, 'a', 1],
      [1, 'b', 3],
    ]),
  );
  await receiver.write(batch([[2, 'a', 4]]));
  await receiver.write(batch([[0, null, 2]], 1));
  receiver.count();
  expect([receiver.records, receiver.findings.lines]).toEqual([4, []]);
});

it.each([
  [[[0, 'a', 1]], /^1 missing: number 2$/],
  [
    [
      [0, 'a', 1],
      [1, 'b', 2],
      [2, 'c', 2],
    ],
    /^1 handed over more than once: number 2, 2 times$/,
  ],
  [
    [
      [0, 'a', 2],
      [1, 'a', 1],
    ],
    /^1 out of order within its key: partition 0, offset 1$/,
  ],
  [
    [
      [0, 'a', 1],
      [2, 'a', 2],
    ],
    /^1 out of turn: partition 0, offset 2 where 1 was next$/,
  ],
  [
    [
      [0, 'a', 1],
      [1, 'a', 2],
      [2, 'a', 3],
    ],
    /^1 never written: partition 0, offset 2$/,
  ],
] as const)('%j: %s', async (records, wanted) => {
  const receiver = new Receiver(2);
  await receiver.write(batch(records));
  receiver.count();
  expect(receiver.findings.lines.join('\n')).toMatch(wanted);
});
