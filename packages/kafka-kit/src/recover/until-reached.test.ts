import { describe, expect, it } from 'vitest';
import { untilReached, type WaitingRoom } from './until-reached.ts';

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

describe('waiting for a server', () => {
  it('tries until it works, and says what is missing meanwhile', async () => {
    const waiting = room(new AbortController().signal);
    let tries = 0;
    const seen: string[] = [];
    const reached = await untilReached(
      waiting,
      'Kafka',
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
    expect(waiting.told).toEqual(Array(2).fill('Kafka can not be reached yet: refused'));
    expect(seen).toEqual(['not-ready: Kafka was not reached yet.', ...Array(2).fill('not-ready: Kafka was not reached yet: refused')]);
    expect(waiting.ready()).toBe('ok: Kafka was reached.');
  });

  it('gives up on a fault that no waiting mends', async () => {
    const waiting = room(new AbortController().signal);
    const attempt = () => Promise.reject(new RangeError('broken contract'));
    await expect(untilReached(waiting, 'Kafka', attempt, (fault) => fault instanceof RangeError)).rejects.toThrow('broken contract');
    expect(waiting.told).toEqual([]);
  });

  it('gives up on a stop, also while it waits', async () => {
    const stop = new AbortController();
    const waiting = room(stop.signal);
    const slow = { ...QUICK, firstMs: 60_000, maxMs: 60_000 };
    const waits = untilReached(waiting, 'Kafka', () => Promise.reject(new Error('refused')), undefined, slow);
    setImmediate(() => stop.abort());
    await expect(waits).rejects.toThrow('abort');
  });
});
