import { systemClock } from '@tailrace/kafka-kit';
import type { PanesRig } from './panes-rig.ts';

const EVENTS = 20;
const PAUSE_MS = 20;
/** One in so many events is this late; the others up to three seconds. */
const LATE_EVERY = 50;
const LATE_MS = 7000;
const SPREAD_MS = 3000;

/** Posts into every partition without a pause, some of it late, until the function that it returns is called. */
export function steadyTraffic(rig: PanesRig, partitions: number): () => Promise<void> {
  let stopped = false;
  let posted = 0;
  const values = (): string[] =>
    Array.from({ length: EVENTS }, () => {
      posted += 1;
      const lateMs = posted % LATE_EVERY === 0 ? LATE_MS : (posted * 37) % SPREAD_MS;
      return JSON.stringify({ timestamp: new Date(Date.now() - lateMs).toISOString(), service: `service-${posted % 5}` });
    });
  const posting = Array.from({ length: partitions }, async (_, partition) => {
    while (!stopped) {
      await rig.post(values(), partition);
      await systemClock.sleep(PAUSE_MS);
    }
  });
  return async () => {
    stopped = true;
    await Promise.all(posting);
  };
}
