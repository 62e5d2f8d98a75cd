import type { BrokerConsumer, PartitionFacts, RawRecord } from '@tailrace/kafka-kit';
import type { LakeRecord } from '@tailrace/lake';
import { expect, it } from 'vitest';
import { NotVoid, TopicMadeAnew } from './faults.ts';
import { type LogAccess, logRangeReader, logStartReader } from './log-range-reader.ts';
import { CHAIN } from './testing/sink-world.ts';
import { voidReader } from './void-reader.ts';

const FACTS: PartitionFacts = { incarnation: CHAIN.incarnation, committed: null, logStart: 0, logEnd: 100 };

/** A consumer that answers look-ups with `facts` and polls with the given runs of offsets, wherever it is assigned. */
function scripted(
  facts: Partial<PartitionFacts>,
  polls: readonly (readonly number[])[],
  more: { readonly over?: boolean; readonly present?: string } = {},
) {
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
    incarnation: async () => more.present ?? FACTS.incarnation,
    cachedLogEnd: () => undefined,
    fetchPosition: () => undefined,
    close: async () => {
      did.closed++;
    },
  };
  const access: LogAccess = { connect: () => consumer, isOver: async () => more.over === true };
  return { did, read: logRangeReader(access), confirmVoids: voidReader(access), logStart: logStartReader(access) };
}

async function offsets(records: AsyncIterable<readonly LakeRecord[]>): Promise<number[]> {
  const all: number[] = [];
  for await (const batch of records) all.push(...batch.map(({ offset }) => offset));
  return all;
}

it('reads exactly the range, whatever comes behind it, and leaves', async () => {
  const { did, read } = scripted({}, [[], [5, 6], [], [7, 8, 9, 10]]);
  const range = await read(CHAIN, 5, 9, []);
  if (range.kind !== 'records') throw new Error(range.kind);
  expect([range.from, await offsets(range.records)]).toEqual([5, [5, 6, 7, 8]]);
  expect(did).toEqual({ assigned: [5], closed: 1 });
});

it('begins where the log begins, and says when nothing is left', async () => {
  const some = scripted({ logStart: 7 }, [[7, 8]]);
  const range = await some.read(CHAIN, 5, 9, []);
  if (range.kind !== 'records') throw new Error(range.kind);
  expect([range.from, await offsets(range.records)]).toEqual([7, [7, 8]]);
  const none = scripted({ logStart: 9 }, []);
  expect(await none.read(CHAIN, 5, 9, [])).toEqual({ kind: 'nothing-left' });
  expect(none.did.closed).toBe(1);
});

it('never ends early and never skips: a hole, a log that is too short and another topic are faults', async () => {
  const hole = scripted({}, [[5], [7, 8]]);
  const range = await hole.read(CHAIN, 5, 9, []);
  if (range.kind !== 'records') throw new Error(range.kind);
  await expect(offsets(range.records)).rejects.toThrow('offset 7 came where 6 was next');
  const beyond = scripted({}, [[5, 6], [12]]);
  const jumped = await beyond.read(CHAIN, 5, 9, []);
  if (jumped.kind !== 'records') throw new Error(jumped.kind);
  await expect(offsets(jumped.records)).rejects.toThrow('offset 12 came where 7 was next');
  expect([hole.did.closed, beyond.did.closed]).toEqual([1, 1]);
  const short = scripted({ logEnd: 8 }, []);
  await expect(short.read(CHAIN, 5, 9, [])).rejects.toThrow('its log ends at 8, and offsets up to 8 were claimed');
  const anew = scripted({ incarnation: 'other___' }, []);
  await expect(anew.read(CHAIN, 5, 9, [])).rejects.toThrow(TopicMadeAnew);
  expect([short.did.closed, anew.did.closed]).toEqual([1, 1]);
});

it('passes over the voids of a claim, and over nothing else', async () => {
  const voids = [
    { first: 6, next: 8 },
    { first: 10, next: 11 },
  ];
  const { did, read } = scripted({}, [
    [5, 8],
    [9, 11, 12],
  ]);
  const range = await read(CHAIN, 5, 12, voids);
  if (range.kind !== 'records') throw new Error(range.kind);
  expect(await offsets(range.records)).toEqual([5, 8, 9, 11]);
  expect(did.assigned).toEqual([5]);
  const within = scripted({ logStart: 7 }, [[8, 9, 11, 12]]);
  const rest = await within.read(CHAIN, 5, 12, voids);
  if (rest.kind !== 'records') throw new Error(rest.kind);
  expect([rest.from, await offsets(rest.records)]).toEqual([7, [8, 9, 11]]);
  const other = scripted({}, [[5, 9]]);
  const wrong = await other.read(CHAIN, 5, 12, voids);
  if (wrong.kind !== 'records') throw new Error(wrong.kind);
  await expect(offsets(wrong.records)).rejects.toThrow('offset 9 came where 8 was next');
});

it('takes nothing for the old topic’s that came when the topic was another', async () => {
  const { did, read } = scripted({}, [[5, 6, 7, 8]], { present: 'other___' });
  const range = await read(CHAIN, 5, 9, []);
  if (range.kind !== 'records') throw new Error(range.kind);
  await expect(offsets(range.records)).rejects.toThrow(TopicMadeAnew);
  expect(did.closed).toBe(1);
});

it('says that nothing is left of a topic’s life that is over', async () => {
  const { did, read, logStart, confirmVoids } = scripted({}, [], { over: true });
  expect(await read(CHAIN, 5, 9, [])).toEqual({ kind: 'nothing-left' });
  expect(await logStart(CHAIN)).toBeUndefined();
  expect(await confirmVoids(CHAIN, [{ first: 5, next: 9 }])).toBe(5);
  expect(did).toEqual({ assigned: [], closed: 0 });
  expect(await scripted({ logStart: 7 }, []).logStart(CHAIN)).toBe(7);
});

it('takes a range for void only where the first record that comes lies behind it', async () => {
  const range = { first: 5, next: 8 };
  const empty = scripted({}, [[], [8]]);
  expect(await empty.confirmVoids(CHAIN, [range])).toBeUndefined();
  expect(empty.did).toEqual({ assigned: [5], closed: 1 });
  const record = scripted({}, [[7]]);
  await expect(record.confirmVoids(CHAIN, [range])).rejects.toThrow(NotVoid);
  await expect(scripted({ incarnation: 'other___' }, []).confirmVoids(CHAIN, [range])).rejects.toThrow(TopicMadeAnew);
  await expect(scripted({}, [[8]], { present: 'other___' }).confirmVoids(CHAIN, [range])).rejects.toThrow(TopicMadeAnew);
  // What the log no longer has can not be read again.
  const gone = scripted({ logStart: 6 }, []);
  expect(await gone.confirmVoids(CHAIN, [range])).toBe(5);
  expect(gone.did.assigned).toEqual([]);
});

it('reads many voids in one go, jumps over long runs of records between them, and finds a record in any', async () => {
  const voids = [
    { first: 5, next: 8 },
    { first: 9, next: 10 },
    { first: 50_000, next: 50_002 },
  ];
  const all = scripted({ logEnd: 60_000 }, [[8, 10, 11], [50_002]]);
  expect(await all.confirmVoids(CHAIN, voids)).toBeUndefined();
  expect(all.did).toEqual({ assigned: [5, 50_000], closed: 1 });
  const second = scripted({ logEnd: 60_000 }, [[8, 9, 10]]);
  await expect(second.confirmVoids(CHAIN, voids)).rejects.toThrow('Offset 9');
  const last = scripted({ logEnd: 60_000 }, [[8, 10], [50_001]]);
  await expect(last.confirmVoids(CHAIN, voids)).rejects.toThrow('Offset 50001');
  expect(await scripted({ logEnd: 60_000 }, []).confirmVoids(CHAIN, [])).toBeUndefined();
});
