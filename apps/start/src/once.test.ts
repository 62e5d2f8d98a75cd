import { describe, expect, it } from 'vitest';
import type { Figure } from './figure.ts';
import { waitForBacklog, waitForSinks } from './once.ts';
import type { Progress } from './progress.ts';

/** Answers with these lags one after the other, the last one for ever. */
function reader(...lags: [Figure, Figure][]) {
  const looks: Progress[] = [];
  return {
    looks,
    read: async (): Promise<Progress> => {
      const [indexer, archiver] = lags[Math.min(looks.length, lags.length - 1)] ?? [at(0), at(0)];
      const lag = new Map([
        ['indexer', indexer],
        ['archiver', archiver],
      ]);
      const alerts = { facts: undefined, silentSeconds: 0 };
      looks.push({ gateway: { counts: { accepted: 0, rejected: 0 }, silentSeconds: 0 }, indexed: at(1), archived: at(1), lag, alerts });
      return looks.at(-1) as Progress;
    },
  };
}

function at(value: number | undefined, silentSeconds = 0): Figure {
  return { value, silentSeconds };
}

describe('what an earlier start left in the log is not counted as posted by this one', () => {
  const { signal } = new AbortController();

  it('both groups are waited for, and no silence is taken for the end', async () => {
    const log = reader([at(5), at(0)], [at(0), at(undefined)], [at(0), at(0, 3)], [at(0), at(0)]);
    expect(await waitForBacklog(log, signal)).toBe(true);
    expect(log.looks).toHaveLength(4);
  });

  it('but not for ever: others may post there', async () => {
    expect(await waitForBacklog(reader([at(5), at(5)]), signal, 700)).toBe(false);
  });

  it('nor when all is to stop', async () => {
    expect(await waitForBacklog(reader([at(5), at(5)]), AbortSignal.abort())).toBe(false);
  });
});

describe('everything that was posted', () => {
  it('is waited for in both sinks, and until it is counted for alerts', async () => {
    const looks = [
      { indexed: 12, archived: 10, counted: true },
      { indexed: 15, archived: 15, counted: false },
      { indexed: 15, archived: 15, counted: true },
    ];
    let look = -1;
    const now = () => looks[Math.min(look, looks.length - 1)] ?? { indexed: 0, archived: 0, counted: false };
    const sinks = {
      indexed: async () => {
        look += 1;
        return now().indexed;
      },
      archived: async () => now().archived,
    };
    const alerts = { decided: async () => now().counted, fired: 3 };
    const posted = { posted: 6, accepted: 5, rejected: 1, repeatedPosts: 0, maybeTwice: 0 };
    const before = { indexed: 10, archived: 10 };
    expect(await waitForSinks(posted, before, { sinks, alerts }, new AbortController().signal)).toEqual({
      posted: 6,
      accepted: 5,
      rejected: 1,
      indexed: 5,
      archived: 5,
      alerts: 3,
    });
    expect(look).toBe(2);
  });
});
