import { expect, it } from 'vitest';
import type { Batch } from '../consume/contract.ts';
import { ChaosSink, ChaosStore } from './chaos-sink.ts';
import { ManualClock } from './manual-clock.ts';
import { Random } from './random.ts';
import { SharedBufferBatch } from './shared-buffer-batch.ts';

const WRITES = 400;
const RECORDS = 5;

/** What a sink of this seed does with so many batches, a word each. */
async function deeds(seed: number): Promise<string[]> {
  const clock = new ManualClock();
  const sink = new ChaosSink(new ChaosStore(), new Random(seed), clock);
  const said: string[] = [];
  for (let i = 0; i < WRITES; i += 1) {
    const source = { topic: 'events', partition: 0, incarnation: 'a' };
    const parts = Array.from({ length: RECORDS }, () => ({ key: null, value: null, headers: [] }));
    const batch: Batch & { readonly released: boolean } = new SharedBufferBatch(source, i * RECORDS, parts);
    const startedMs = clock.nowMs();
    let deed: string | undefined;
    // Each by a lane of its own: what one owes says nothing about the next.
    void sink.write(batch, new AbortController().signal).then(
      (outcomes: unknown) => {
        deed = describe(outcomes);
      },
      () => {
        deed = 'fails';
      },
    );
    await clock.until(() => deed !== undefined, 'it answers', 20_000);
    const stalled = clock.nowMs() - startedMs >= 1000 ? ', stalls' : '';
    said.push(`${deed}${stalled}${batch.released ? ', released' : ''}`);
  }
  return said;
}

function describe(outcomes: unknown): string {
  if (!Array.isArray(outcomes) || outcomes.length !== RECORDS) return 'nonsense';
  const kinds = Array.from(outcomes, (outcome) => outcome?.kind);
  if (kinds.some((kind) => !['stored', 'skipped', 'retry', 'dead'].includes(kind))) return 'nonsense';
  return [...new Set(kinds)].sort().join(' and ');
}

it('fails, stalls, answers nonsense, retries, skips and releases, each often, and the same for the same seed', async () => {
  const said = await deeds(7);
  for (const deed of ['fails', 'stalls', 'nonsense', 'retry', 'skipped', 'released'])
    expect(said.filter((each) => each.includes(deed)).length, deed).toBeGreaterThan(WRITES / 100);
  expect(said.filter((each) => each.startsWith('stored')).length).toBeGreaterThan(WRITES / 3);
  expect(await deeds(7)).toEqual(said);
  expect(await deeds(8)).not.toEqual(said);
});
