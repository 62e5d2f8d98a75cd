import type { BrokerConsumer, PartitionFacts, RawRecord } from '@tailrace/kafka-kit';
import type { LakeRecord } from '@tailrace/lake';
import { expect, it } from 'vitest';
import { NotVoid, TopicMadeAnew } from './faults.ts';
import { logRangeReader, voidReader } from './log-range-reader.ts';
import { CHAIN } from './testing/sink-world.ts';

const FACTS: PartitionFacts = { incarnation: CHAIN.incarnation, committed: null, logStart: 0, logEnd: 100 };

/** A consumer that answers look-ups with `facts` and polls with the given runs of offsets, wherever it is assigned. */
function scripted(facts: Partial<PartitionFacts>, polls: readonly (readonly number[])[]) {
  const left = [...polls];
  const did = { assigned: [] as number[], closed: 0 };
  const record = (offset: number): RawRecord => ({
    ...CHAIN,
    offset,
    timestampMs: 1,
    key: null,
    value: Buffer.from(`v${offset}`),
    headers: [],
  });
  const consumer: BrokerConsumer = {
    connect: async () => {},
    poll: async () => (left.shift() ?? []).map(record),
    assign: (positions) => did.assigned.push(...positions.map(({ nextToRead }) => nextToRead)),
    unassign: () => {},
    pause: () => {},
    resume: () => {},
    store: () => {},
    commitStored: () => {},
    facts: async () => ({ ...FACTS, ...facts }),
    incarnation: async () => FACTS.incarnation,
    cachedLogEnd: () => undefined,
    fetchPosition: () => undefined,
    close: async () => {
      did.closed++;
    },
  };
  return { did, read: logRangeReader(() => consumer), confirmVoid: voidReader(() => consumer) };
}

async function offsets(records: AsyncIterable<readonly LakeRecord[]>): Promise<number[]> {
  const all: number[] = [];
  for await (const batch of records) all.push(...batch.map(({ offset }) => offset));
  return all;
}

it('reads exactly the range, whatever comes behind it, and leaves', async () => {
  const { did, read } = scripted({}, [[], [5, 6], [], [7, 8, 9, 10]]);
  const range = await read(CHAIN, 5, 9);
  if (range.kind !== 'records') throw new Error(range.kind);
  expect([range.from, await offsets(range.records)]).toEqual([5, [5, 6, 7, 8]]);
  expect(did).toEqual({ assigned: [5], closed: 1 });
});

it('begins where the log begins, and says when nothing is left', async () => {
  const some = scripted({ logStart: 7 }, [[7, 8]]);
  const range = await some.read(CHAIN, 5, 9);
  if (range.kind !== 'records') throw new Error(range.kind);
  expect([range.from, await offsets(range.records)]).toEqual([7, [7, 8]]);
  const none = scripted({ logStart: 9 }, []);
  expect(await none.read(CHAIN, 5, 9)).toEqual({ kind: 'nothing-left' });
  expect(none.did.closed).toBe(1);
});

it('never ends early and never skips: a hole, a log that is too short and another topic are faults', async () => {
  const hole = scripted({}, [[5], [7, 8]]);
  const range = await hole.read(CHAIN, 5, 9);
  if (range.kind !== 'records') throw new Error(range.kind);
  await expect(offsets(range.records)).rejects.toThrow('offset 7 came where 6 was next');
  const beyond = scripted({}, [[5, 6], [12]]);
  const jumped = await beyond.read(CHAIN, 5, 9);
  if (jumped.kind !== 'records') throw new Error(jumped.kind);
  await expect(offsets(jumped.records)).rejects.toThrow('offset 12 came where 7 was next');
  expect([hole.did.closed, beyond.did.closed]).toEqual([1, 1]);
  const short = scripted({ logEnd: 8 }, []);
  await expect(short.read(CHAIN, 5, 9)).rejects.toThrow('its log ends at 8, and offsets up to 8 were claimed');
  const anew = scripted({ incarnation: 'other___' }, []);
  await expect(anew.read(CHAIN, 5, 9)).rejects.toThrow(TopicMadeAnew);
  expect([short.did.closed, anew.did.closed]).toEqual([1, 1]);
});

it('takes a range for void only where the first record that comes lies behind it', async () => {
  const range = { first: 5, next: 8 };
  const empty = scripted({}, [[], [8]]);
  await empty.confirmVoid(CHAIN, range);
  expect(empty.did).toEqual({ assigned: [5], closed: 1 });
  const record = scripted({}, [[7]]);
  await expect(record.confirmVoid(CHAIN, range)).rejects.toThrow(NotVoid);
  await expect(scripted({ incarnation: 'other___' }, []).confirmVoid(CHAIN, range)).rejects.toThrow(TopicMadeAnew);
  // What the log no longer has can not be read again: the reading that found it void was the last.
  const gone = scripted({ logStart: 8 }, []);
  await gone.confirmVoid(CHAIN, range);
  expect(gone.did.assigned).toEqual([]);
});
