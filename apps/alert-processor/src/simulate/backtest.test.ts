import type { HistoryRecord } from '@tailrace/kafka-kit';
import { Random } from '@tailrace/kafka-kit/testing';
import { describe, expect, it } from 'vitest';
import { plainRule, ruleSet } from '../testing/plain-rules.ts';
import { type BacktestPart, type BacktestPartition, backtest } from './backtest.ts';
import { Firings } from './firings.ts';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const MINUTE_MS = 60_000;
const RULES = ruleSet([plainRule({ condition: { operator: '>', threshold: 5 } })]);

function record(offset: number, timestampMs: number, service: string): HistoryRecord {
  const value = Buffer.from(JSON.stringify({ service, timestamp: new Date(timestampMs).toISOString() }));
  return { offset, timestampMs, key: null, value, headers: [] };
}

function partition(number: number, parts: readonly BacktestPart[]): BacktestPartition {
  return {
    source: { topic: 'service-events', incarnation: 'abcdefgh', partition: number },
    async *read() {
      yield* parts;
    },
  };
}

/** One record a second, in parts of seven, in turns from the lake and from Kafka. */
function seconds(from: number, to: number, service: string): BacktestPart[] {
  const records = Array.from({ length: to - from }, (_, i) => record(i, T0 + (from + i) * 1000, service));
  return Array.from({ length: Math.ceil(records.length / 7) }, (_, i) => ({
    kind: 'records' as const,
    source: i % 2 === 0 ? ('lake' as const) : ('kafka' as const),
    records: records.slice(i * 7, i * 7 + 7),
  }));
}

async function run(partitions: readonly BacktestPartition[], { fromMs = T0, toMs = T0 + 10 * MINUTE_MS, rules = RULES } = {}) {
  const firings = new Firings(
    rules.rules.map(({ name }) => name),
    fromMs,
  );
  let read = 0;
  const reading = await backtest({
    rules,
    readFromMs: T0 - 2 * MINUTE_MS,
    toMs,
    partitions,
    onTold: (told) => firings.take(told),
    onRead: (offsets) => {
      read += offsets;
    },
    signal: new AbortController().signal,
  });
  const [of] = firings.close(toMs);
  return { ...reading, read, of };
}

describe('backtest', () => {
  it('merges partitions by arrival, whatever the parts: the sixth event fires, at the next tick', async () => {
    const { of, records, read } = await run([
      partition(0, seconds(60, 63, 'shop')),
      partition(1, seconds(63, 65, 'shop')),
      partition(2, seconds(65, 100, 'shop')),
    ]);
    expect(of).toMatchObject({
      fired: 1,
      firstMs: T0 + 66_000,
      lastMs: T0 + 66_000,
      firingAtEnd: 0,
      days: [{ day: '2026-01-01', fired: 1 }],
      groups: [{ group: '["shop"]', fired: 1 }],
      // The last window that holds more than five of its events ends at 2m30s, and lateness passes the next one a minute later.
      longest: { group: '["shop"]', firedMs: T0 + 66_000, overMs: T0 + 220_000, evidence: 'count 6 > 5 in 1 min' },
    });
    expect(records).toEqual({ lake: 26, kafka: 14 });
    expect(read).toBe(40);
  });

  it('tells the same whichever partition an event lies in, and in whatever parts it is read', async () => {
    const random = new Random(7);
    const results = [];
    for (let i = 0; i < 20; i++) {
      const of = [0, 1, 2].map((): HistoryRecord[] => []);
      for (let second = 0; second < 300; second++) {
        const lane = random.pick(of);
        if (second % 100 < 20) lane.push(record(lane.length, T0 + second * 1000, 'shop'));
      }
      const partitions = of.map((records, number) => {
        const parts: BacktestPart[] = [];
        for (let at = 0; at < records.length; ) {
          const size = random.whole(1, 9);
          parts.push({ kind: 'records', source: 'lake', records: records.slice(at, at + size) });
          at += size;
        }
        return partition(number, parts);
      });
      results.push((await run(partitions)).of);
    }
    expect(results[0]?.fired).toBeGreaterThan(1);
    for (const each of results) expect(each).toEqual(results[0]);
  });

  it('leaves out what was told before the window, and says what fired already and what goes on', async () => {
    const { of } = await run([partition(0, seconds(60, 400, 'shop'))], { fromMs: T0 + 2 * MINUTE_MS, toMs: T0 + 5 * MINUTE_MS });
    expect(of).toMatchObject({ fired: 0, firingAtStart: 1, firingAtEnd: 1, alerts: [], longest: undefined });
    const open = await run([partition(0, seconds(60, 400, 'shop'))], { toMs: T0 + 5 * MINUTE_MS });
    expect(open.of).toMatchObject({ fired: 1, firingAtEnd: 1, longest: { firedMs: T0 + 66_000 } });
    expect(open.of?.longest?.overMs).toBeUndefined();
  });

  it('reads nothing behind the window', async () => {
    let read = 0;
    const endless: BacktestPartition = {
      source: { topic: 'service-events', incarnation: 'abcdefgh', partition: 0 },
      async *read() {
        for (let i = 0; ; i++) {
          read++;
          yield { kind: 'records', source: 'kafka', records: [record(i, T0 + i * 1000, 'shop')] };
        }
      },
    };
    await run([endless, partition(1, seconds(0, 5, 'cart'))]);
    expect(read).toBe(601);
  });

  it('says what could not be read, and goes on behind it', async () => {
    const [head, tail] = [seconds(60, 63, 'shop'), seconds(63, 100, 'shop')];
    const { of, unreadable } = await run([
      partition(0, [
        ...head,
        { kind: 'void', from: 3, to: 5 },
        { kind: 'lost', from: 5, to: 9 },
        { kind: 'hole', from: 9, to: 11 },
        { kind: 'before-archive', from: 11, to: 12 },
        ...tail,
      ]),
    ]);
    expect(of?.fired).toBe(1);
    expect(unreadable.map(({ kind, from, to }) => [kind, from, to])).toEqual([
      ['lost', 5, 9],
      ['hole', 9, 11],
      ['before-archive', 11, 12],
    ]);
  });

  it('takes a record behind a step of the clock for one that arrived after the one before it', async () => {
    const back = [0, 1, 2, 3, 4, 5].map((i) => record(10 + i, T0 + 30_000 + i * 1000, 'shop'));
    const { of } = await run([partition(0, [...seconds(60, 65, 'cart'), { kind: 'records', source: 'kafka', records: back }])]);
    expect(of).toMatchObject({ fired: 1, firstMs: T0 + 65_000 });
  });

  it('counts values that are no events of ours for nothing', async () => {
    const odd: HistoryRecord[] = [null, Buffer.from('no JSON'), Buffer.from('[]')].map((value, offset) => ({
      offset,
      timestampMs: T0 + offset,
      key: null,
      value,
      headers: [],
    }));
    const { of } = await run([partition(0, [{ kind: 'records', source: 'lake', records: odd }])]);
    expect(of?.fired).toBe(0);
  });

  it('stops when it is told to, and lets go of what it reads', async () => {
    const stop = new AbortController();
    let ended = false;
    const endless: BacktestPartition = {
      source: { topic: 'service-events', incarnation: 'abcdefgh', partition: 0 },
      async *read() {
        try {
          for (let i = 0; ; i++) {
            if (i === 100) stop.abort();
            yield { kind: 'records', source: 'kafka', records: [record(i, T0 + i, 'shop')] };
          }
        } finally {
          ended = true;
        }
      },
    };
    const running = backtest({
      rules: RULES,
      readFromMs: T0,
      toMs: T0 + MINUTE_MS,
      partitions: [endless],
      onTold: () => {},
      onRead: () => {},
      signal: stop.signal,
    });
    await expect(running).rejects.toThrow(/aborted/);
    expect(ended).toBe(true);
  });
});
