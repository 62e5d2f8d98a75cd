import { type Clock, systemClock } from '@tailrace/kafka-kit';

/** Time that passes so many times as fast: for minutes with real sockets. */
export function fastClock(times: number, startMs: number): Clock {
  const beganMs = performance.now();
  return {
    nowMs: () => startMs + (performance.now() - beganMs) * times,
    sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
  };
}
