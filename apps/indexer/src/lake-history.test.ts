import type { HistoryPart, RecordHistory } from '@tailrace/kafka-kit';
import { expect, it } from 'vitest';
import { LazyLakeHistory } from './lake-history.ts';

const OF = { topic: 'service-events', incarnation: 'aB-_9xYz', partition: 0 };
const S3 = { prefix: 'lake' } as ConstructorParameters<typeof LazyLakeHistory>[0];
const never = new AbortController().signal;

/** A lake of three losses, and how often it was opened and closed. */
function counted() {
  const counts = { opened: 0, closed: 0 };
  const history: RecordHistory = {
    async *read(_, from, to) {
      for (let at = from; at < Math.min(to, 3); at += 1) yield { kind: 'lost', from: at, to: at + 1 };
    },
  };
  const lake = new LazyLakeHistory(S3, async () => {
    counts.opened += 1;
    return {
      history,
      close: async () => {
        counts.closed += 1;
      },
    };
  });
  return { counts, lake };
}

it('is opened once for all readings at a time, and closed when none is left', async () => {
  const { counts, lake } = counted();
  const [a, b] = [lake.read(OF, 0, 9, never), lake.read(OF, 1, 9, never)].map((parts) => parts[Symbol.asyncIterator]());
  expect(counts).toEqual({ opened: 0, closed: 0 });
  expect([(await a?.next())?.value, (await b?.next())?.value]).toEqual([
    { kind: 'lost', from: 0, to: 1 },
    { kind: 'lost', from: 1, to: 2 },
  ]);
  await a?.return?.();
  expect(counts).toEqual({ opened: 1, closed: 0 });
  const rest: HistoryPart[] = [];
  for (let each = await b?.next(); each?.done === false; each = await b?.next()) rest.push(each.value);
  expect([rest.length, counts]).toEqual([1, { opened: 1, closed: 1 }]);
  for await (const part of lake.read(OF, 2, 9, never)) rest.push(part);
  expect([rest.length, counts]).toEqual([2, { opened: 2, closed: 2 }]);
});

it('a close waits for the readings, but no longer than it may, and closes what is open', async () => {
  const { counts, lake } = counted();
  const reading = lake.read(OF, 0, 9, never)[Symbol.asyncIterator]();
  await reading.next();
  const closing = lake.close(60_000);
  expect(counts.closed).toBe(0);
  await reading.return?.();
  await closing;
  expect(counts.closed).toBe(1);
  const stuck = lake.read(OF, 0, 9, never)[Symbol.asyncIterator]();
  await stuck.next();
  await lake.close(10);
  expect(counts).toEqual({ opened: 2, closed: 2 });
});

it('what can not be opened fails its reading, and is opened anew for the next', async () => {
  let tries = 0;
  const lake = new LazyLakeHistory(S3, async () => {
    tries += 1;
    throw new Error('no room');
  });
  for (let i = 0; i < 2; i += 1) await expect(lake.read(OF, 0, 9, never)[Symbol.asyncIterator]().next()).rejects.toThrow('no room');
  await lake.close(10);
  expect(tries).toBe(2);
});
