import { afterEach, describe, expect, it, vi } from 'vitest';
import { untilReached, type WaitingRoom } from './until-reached.ts';

const KAFKA = { name: 'Kafka', at: '127.0.0.1:9092' };
const QUICK = { firstMs: 1, factor: 1, maxMs: 1, jitter: 0 };

function room(signal: AbortSignal): WaitingRoom & { told: string[]; ready(): string } {
  const told: string[] = [];
  let check = (): { state: string; sentence: string } => ({ state: 'none', sentence: '' });
  return {
    told,
    ready: () => `${check().state}: ${check().sentence}`,
    log: { warn: (_, sentence) => told.push(sentence) },
    health: {
      set: (_, next) => {
        check = next;
      },
    },
    signal,
  };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('waiting for a server', () => {
  it('tries until it works, and says what is missing meanwhile', async () => {
    const waiting = room(new AbortController().signal);
    let tries = 0;
    const seen: string[] = [];
    const reached = await untilReached(
      waiting,
      KAFKA,
      async () => {
        seen.push(waiting.ready());
        tries += 1;
        if (tries < 3) throw new Error('refused');
        return tries;
      },
      undefined,
      QUICK,
    );
    expect(reached).toBe(3);
    expect(waiting.told).toEqual(Array(2).fill('Kafka at 127.0.0.1:9092 can not be reached yet: refused'));
    expect(seen).toEqual([
      'not-ready: Kafka at 127.0.0.1:9092 was not reached yet.',
      ...Array(2).fill('not-ready: Kafka at 127.0.0.1:9092 was not reached yet: refused'),
    ]);
    // Kafka may be away long since: what was true once is not said as if it were true now.
    expect(waiting.ready()).toBe('ok: Kafka at 127.0.0.1:9092 was reached at the start, 0 s ago.');
    const nowMs = performance.now();
    vi.spyOn(performance, 'now').mockReturnValue(nowMs + 812_500);
    expect(waiting.ready()).toBe('ok: Kafka at 127.0.0.1:9092 was reached at the start, 812 s ago.');
  });

  it('gives up on a fault that no waiting mends', async () => {
    const waiting = room(new AbortController().signal);
    const attempt = () => Promise.reject(new RangeError('broken contract'));
    await expect(untilReached(waiting, KAFKA, attempt, (fault) => fault instanceof RangeError)).rejects.toThrow('broken contract');
    expect(waiting.told).toEqual([]);
  });

  it('gives up on a stop, also while it waits', async () => {
    const stop = new AbortController();
    const waiting = room(stop.signal);
    const slow = { ...QUICK, firstMs: 60_000, maxMs: 60_000 };
    const waits = untilReached(waiting, KAFKA, () => Promise.reject(new Error('refused')), undefined, slow);
    setImmediate(() => stop.abort());
    await expect(waits).rejects.toThrow('abort');
  });
});
