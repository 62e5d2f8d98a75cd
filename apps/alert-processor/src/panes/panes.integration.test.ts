import { afterEach, expect, test, vi } from 'vitest';
import { countsOf, eventsNow, markOf, PanesRig } from '../testing/panes-rig.ts';
import { LATENESS_MS } from '../testing/plain-rules.ts';

const WAIT = { timeout: 30_000, interval: 100 };
let rig: PanesRig | undefined;
afterEach(() => rig?.close());

test('what is published of a stream equals a recount, and its marks follow the log, also of a partition that is silent', async () => {
  rig = await PanesRig.make(3);
  const made = rig;
  const panes = await made.open();
  // The group begins at the end: what is posted now must come behind its first position.
  await vi.waitFor(() => expect(panes.runtime.lanes().filter(({ phase }) => phase === 'running')).toHaveLength(3), WAIT);
  for (let i = 0; i < 20; i++) await Promise.all([0, 1].map((partition) => made.post(eventsNow(50), partition)));
  await vi.waitFor(async () => expect((await made.lag()).map(({ lag }) => lag)).toEqual([0, 0, 0]), WAIT);
  const postedMs = Date.now();
  await vi.waitFor(async () => {
    const published = await made.published();
    for (const partition of [0, 1, 2]) expect(markOf(published, partition)?.watermarkMs).toBeGreaterThan(postedMs - LATENESS_MS);
  }, WAIT);
  const counts = countsOf(await made.published());
  expect([...counts.values()].reduce((sum, n) => sum + n, 0)).toBe(2000);
  expect(counts).toEqual((await made.recount()).counts);
  expect(panes.sink.warmUp.kind).toBe('warm');
});
