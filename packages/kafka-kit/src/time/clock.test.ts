import { expect, it } from 'vitest';
import { systemClock } from './clock.ts';

it('a sleep ends at its time, at once where the signal is aborted, and when it is aborted later', async () => {
  const sinceMs = systemClock.nowMs();
  await systemClock.sleep(20);
  expect(systemClock.nowMs() - sinceMs).toBeGreaterThanOrEqual(18);
  await systemClock.sleep(60_000, AbortSignal.abort());
  const abort = new AbortController();
  const sleeping = systemClock.sleep(60_000, abort.signal);
  abort.abort();
  await sleeping;
  expect(systemClock.nowMs() - sinceMs).toBeLessThan(5000);
});
