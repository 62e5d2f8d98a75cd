import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Outcome, Sink } from '../consume/contract.ts';
import type { Headers, TopicPartition } from '../records.ts';
import { type BatchSource, SharedBufferBatch } from './shared-buffer-batch.ts';
import type { Wire } from './wire.ts';

/** A record of a sink's suite: what is handed over, what must be answered, and what the store must hold of it. */
export interface SinkRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Headers;
  readonly outcome: Outcome['kind'];
  /** As `kept` gives it; undefined where nothing is kept. */
  readonly kept: unknown;
}

/** What the suite needs of a sink: the sink on a real store, and a view of that store that does not go through the sink. */
export interface SinkHarness {
  /** A new sink on the same store. */
  open(): Promise<Sink>;
  /** A partition of its own, to which nothing was ever written. */
  source(): Promise<BatchSource>;
  /** The record at an offset; every kind of record that the sink tells apart. */
  record(offset: number): SinkRecord;
  /** Everything that the store holds of a partition, with its offset: what stands there twice is there twice. */
  kept(source: BatchSource): Promise<readonly (readonly [offset: number, kept: unknown])[]>;
  /** The sinks' way to the store. */
  readonly store: Pick<Wire, 'cut' | 'hold' | 'mend'>;
  close(): Promise<void>;
}

/** An aborted write must end within this time: the lane's next owner is waiting. */
const ABORT_MS = 5000;
/** So long a write is under way before its lane is given up. */
const PENDING_MS = 100;
/** A sink that meets a dead store either throws at once or keeps the write. */
const OUTAGE_MS = 1500;
const AGAIN_MS = 50;
const PATIENCE_MS = 40_000;

/** What the runtime builds on, whatever a sink writes to: `Sink` says it in words. */
export function sinkConformance(name: string, makeHarness: () => Promise<SinkHarness>): void {
  describe(`sink conformance: ${name}`, { timeout: 2 * PATIENCE_MS }, () => {
    let harness: SinkHarness;
    const sinks: Sink[] = [];

    beforeAll(async () => {
      harness = await makeHarness();
    });
    let away = false;
    const takeAway = (how: 'cut' | 'hold'): void => {
      harness.store[how]();
      away = true;
    };
    const bringBack = (): void => {
      // Only then: it breaks every connection.
      if (away) harness.store.mend();
      away = false;
    };
    afterEach(async () => {
      bringBack();
      for (const sink of sinks.splice(0)) await sink.close?.();
    });
    afterAll(() => harness.close());

    const openSink = async (): Promise<Sink> => {
      const sink = await harness.open();
      sinks.push(sink);
      return sink;
    };
    /** Takes the partition on, as the runtime does before the first batch. Returns where the sink wants to begin. */
    const take = async (sink: Sink, source: BatchSource, logEnd = 1000): Promise<number> =>
      (await sink.assign?.({ ...source, committed: null, logStart: 0, logEnd }))?.startAt ?? 0;
    const batch = (source: BatchSource, from: number, to: number): SharedBufferBatch =>
      new SharedBufferBatch(
        source,
        from,
        Array.from({ length: to - from }, (_, i) => harness.record(from + i)),
      );
    /** Hands `[from, to)` over in memory that is overwritten as soon as the sink may not look at it any more. */
    const write = async (sink: Sink, source: BatchSource, from: number, to: number, signal = new AbortController().signal) => {
      const handed = batch(source, from, to);
      try {
        return await sink.write(handed, signal);
      } finally {
        handed.overwrite();
      }
    };
    /** As the runtime does: what is thrown back is handed over again, and a lane whose batch had been released is opened again. */
    const store = async (sink: Sink, source: BatchSource, from: number, to: number, signal = new AbortController().signal) => {
      for (const endMs = Date.now() + PATIENCE_MS; ; ) {
        const handed = batch(source, from, to);
        try {
          return kindsOf(await sink.write(handed, signal));
        } catch (cause) {
          if (Date.now() > endMs) throw cause;
          await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
          if (handed.released) await take(sink, source);
        } finally {
          handed.overwrite();
        }
      }
    };
    const expected = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => harness.record(from + i).outcome);
    const kindsOf = (outcomes: readonly Outcome[]) => outcomes.map(({ kind }) => kind);
    /** The store holds exactly `[0, to)`: each record once, as it was handed over. */
    const holds = async (source: BatchSource, to: number): Promise<void> => {
      const wanted = Array.from({ length: to }, (_, offset) => [offset, harness.record(offset).kept] as const);
      const kept = [...(await harness.kept(source))].sort(([a], [b]) => a - b);
      expect(kept).toEqual(wanted.filter(([, each]) => each !== undefined));
    };

    it('answers one outcome for each record, in order, and what it calls stored is in the store by then', async () => {
      const [sink, source] = [await openSink(), await harness.source()];
      expect(await take(sink, source)).toBe(0);
      expect(await store(sink, source, 0, 1)).toEqual(expected(0, 1));
      await holds(source, 1);
      const several = [
        [1, 40],
        [40, 41],
        [41, 90],
      ] as const;
      const answered = await Promise.all(several.map(([from, to]) => write(sink, source, from, to)));
      expect(answered.map(kindsOf)).toEqual(several.map(([from, to]) => expected(from, to)));
      await holds(source, 90);
    });

    it('takes a batch that is handed over again, in other cuts, by itself and by another process: each record is kept once', async () => {
      const [sink, source] = [await openSink(), await harness.source()];
      await take(sink, source);
      await store(sink, source, 0, 20);
      expect(await store(sink, source, 0, 20)).toEqual(expected(0, 20));
      expect(await store(sink, source, 10, 30)).toEqual(expected(10, 30));
      const other = await openSink();
      expect([0, 30], 'where it knows its position, that is behind what it keeps').toContain(await take(other, source));
      expect(await store(other, source, 0, 40)).toEqual(expected(0, 40));
      await holds(source, 40);
    });

    it('ends a pending write when its lane is given up, and takes the partition on again', async () => {
      const [sink, source] = [await openSink(), await harness.source()];
      await take(sink, source);
      await store(sink, source, 0, 10);
      await givenUp(sink, source, 10, 20);
      await take(sink, source);
      expect(await store(sink, source, 10, 30)).toEqual(expected(10, 30));
      await holds(source, 30);
    });

    it('ends the very first write too, and one whose lane was given up before it began', async () => {
      const [sink, source] = [await openSink(), await harness.source()];
      await take(sink, source);
      const signal = await givenUp(sink, source, 0, 10);
      expect(await settledWithin(write(sink, source, 0, 10, signal), ABORT_MS)).toBe('rejected');
      await take(sink, source);
      expect(await store(sink, source, 0, 10)).toEqual(expected(0, 10));
      await holds(source, 10);
    });

    it.each(['cut', 'hold'] as const)('goes on after its store was away (%s): nothing is lost, nothing is kept twice', async (how) => {
      const [sink, source] = [await openSink(), await harness.source()];
      await take(sink, source);
      await store(sink, source, 0, 10);
      takeAway(how);
      const handed = batch(source, 10, 20);
      const first = sink.write(handed, new AbortController().signal).finally(() => handed.overwrite());
      const state = await settledWithin(first, OUTAGE_MS);
      expect(['rejected', 'pending'], 'nothing is said to be stored while the store is away').toContain(state);
      bringBack();
      // What it keeps comes to an end by itself; what it threw back, or throws now, is handed over again.
      const answered = await first.then(kindsOf, async () => {
        if (handed.released) await take(sink, source);
        return await store(sink, source, 10, 20);
      });
      expect(answered).toEqual(expected(10, 20));
      expect(await store(sink, source, 20, 30)).toEqual(expected(20, 30));
      await holds(source, 30);
    });

    it('flushes what it holds, and closes twice, unused and used', async () => {
      const unused = await openSink();
      await unused.close?.();
      await unused.close?.();
      const [sink, source] = [await openSink(), await harness.source()];
      await take(sink, source);
      const pending = store(sink, source, 0, 10);
      const tp: TopicPartition = { topic: source.topic, partition: source.partition };
      await sink.flush?.('stop', [tp]);
      expect(await pending).toEqual(expected(0, 10));
      await sink.flush?.('revoke', [tp]);
      await sink.close?.();
      await sink.close?.();
      await holds(source, 10);
    });

    /** Gives the lane up in the middle of a write to a store that does not answer, and expects the write to end. */
    async function givenUp(sink: Sink, source: BatchSource, from: number, to: number): Promise<AbortSignal> {
      takeAway('hold');
      const lane = new AbortController();
      const ended = settledWithin(write(sink, source, from, to, lane.signal), ABORT_MS);
      setTimeout(() => lane.abort(), PENDING_MS);
      expect(await ended).toBe('rejected');
      bringBack();
      return lane.signal;
    }
  });
}

async function settledWithin(promise: Promise<unknown>, ms: number): Promise<'resolved' | 'rejected' | 'pending'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'pending'>((resolve) => {
    timer = setTimeout(() => resolve('pending'), ms);
  });
  const settled = promise.then(
    () => 'resolved' as const,
    () => 'rejected' as const,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}
