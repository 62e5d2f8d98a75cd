import { Ledger } from '@tailrace/lake';
import { MemoryStore } from '@tailrace/lake/testing';
import { expect, it } from 'vitest';
import { chainLines, NoSuchChain, type ShownChain, shownChains } from './ledger-show.ts';
import { CHAIN, LAKE } from './testing/sink-world.ts';

async function ledgerOf(...partitions: number[]): Promise<{ readonly ledger: Ledger; readonly store: MemoryStore }> {
  const store = new MemoryStore();
  const ledger = new Ledger(store, LAKE);
  for (const partition of partitions)
    for (let first = 0; first < 30; first += 10)
      await ledger.claim({ ...CHAIN, partition }, { kind: 'void', first, next: first + 10, attempt: 'v' });
  return { ledger, store };
}
async function shown(ledger: Ledger, filter: Parameters<typeof shownChains>[1] = {}): Promise<ShownChain[]> {
  const chains: ShownChain[] = [];
  for await (const chain of shownChains(ledger, filter)) chains.push(chain);
  return chains;
}

it('shows a damaged entry as a line among the others', async () => {
  const { ledger, store } = await ledgerOf(3);
  const [, key] = [...store.objects.keys()] as [string, string];
  store.objects.set(key, Buffer.from('no JSON'));
  const [chain] = (await shown(ledger)) as [ShownChain];
  expect(chainLines(chain)).toEqual([
    'service-events~aB-_9xYz, partition 3: 3 entries, up to offset 30',
    '  void    0 to 9',
    expect.stringMatching(new RegExp(`^  DAMAGED 10 to \\?  .*${key}.* is not JSON`)),
    '  void    20 to 29',
  ]);
});

it('a filter that nothing matches is wrong use, and the sentence names what there is', async () => {
  const { ledger } = await ledgerOf(3, 10, 2);
  for (const filter of [{ topic: 'service-event' }, { partition: 99 }, { incarnation: 'x' }, { topic: CHAIN.topic, partition: 99 }]) {
    const fault = await shown(ledger, filter).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(NoSuchChain);
    expect(String(fault)).toContain('It has --topic service-events --incarnation aB-_9xYz with the partitions 2, 3, 10.');
  }
  expect(await shown(ledger, { partition: 10 })).toHaveLength(1);
});

it('a ledger without any chain is shown as such, and asked for one it says so', async () => {
  const { ledger } = await ledgerOf();
  expect(await shown(ledger)).toEqual([]);
  await expect(shown(ledger, { partition: 1 })).rejects.toThrow('none at all: nothing was archived yet');
});
