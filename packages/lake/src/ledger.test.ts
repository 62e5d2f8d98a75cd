import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Ledger } from './ledger.ts';
import { formatEntry, LedgerDamage, type LedgerEntry, MAX_DATA_SPAN, parseEntry } from './ledger-entry.ts';
import { entryKey, type LakeLayout } from './object-names.ts';
import { CHAIN, MemoryStore } from './testing/index.ts';

const LAKE: LakeLayout = { prefix: '', stream: 'service-events' };

function data(first: number, next: number, attempt = 'a'): LedgerEntry {
  const object = `service-events/dt=2026-01-01/hour=00/service-events~aB-_9xYz+3+${String(first).padStart(20, '0')}.parquet`;
  return {
    kind: 'data',
    first,
    next,
    attempt,
    object,
    rows: next - first,
    minTimestampMs: 1,
    maxTimestampMs: 2,
    voids: [],
    checksum: '0'.repeat(16),
  };
}

/** A chain of a genesis up to `start`, then data entries of the given spans. */
async function chainOf(start: number, spans: readonly number[]): Promise<{ ledger: Ledger; entries: LedgerEntry[] }> {
  const ledger = new Ledger(new MemoryStore(), LAKE);
  const entries: LedgerEntry[] = start > 0 ? [{ kind: 'genesis', first: 0, next: start, attempt: 'g' }] : [];
  for (const span of spans) {
    const first = entries.at(-1)?.next ?? 0;
    entries.push(data(first, first + span));
  }
  for (const entry of entries) await ledger.claim(CHAIN, entry);
  return { ledger, entries };
}

const spans = fc.array(fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: MAX_DATA_SPAN - 2, max: MAX_DATA_SPAN })), {
  maxLength: 8,
});
const start = fc.oneof(fc.constant(0), fc.nat(10), fc.integer({ min: MAX_DATA_SPAN, max: 5 * MAX_DATA_SPAN }));

describe('the ledger', () => {
  it('finds the last entry from any hint', async () => {
    await fc.assert(
      fc.asyncProperty(start, spans, fc.option(fc.nat(30 * MAX_DATA_SPAN), { nil: null }), async (from, lengths, hint) => {
        const { ledger, entries } = await chainOf(from, lengths);
        expect(await ledger.last(CHAIN, hint)).toEqual(entries.at(-1));
      }),
    );
  });

  it('finds the entry that holds an offset, and none behind the chain’s end', async () => {
    await fc.assert(
      fc.asyncProperty(start, spans, fc.nat(20 * MAX_DATA_SPAN), async (from, lengths, offset) => {
        const { ledger, entries } = await chainOf(from, lengths);
        const probes = [offset, ...entries.flatMap(({ first, next }) => [first, next - 1, next])];
        for (const probe of probes)
          expect(await ledger.holding(CHAIN, probe)).toEqual(entries.find(({ first, next }) => first <= probe && probe < next));
      }),
    );
  });

  it('gives a position to one attempt only, and tells a lost answer from a lost race', async () => {
    const ledger = new Ledger(new MemoryStore(), LAKE);
    expect(await ledger.claim(CHAIN, data(0, 10, 'mine'))).toEqual({ kind: 'claimed' });
    expect(await ledger.claim(CHAIN, data(0, 10, 'mine'))).toEqual({ kind: 'claimed' });
    expect(await ledger.claim(CHAIN, data(0, 20, 'other'))).toEqual({ kind: 'taken', by: data(0, 10, 'mine') });
    expect(await ledger.claim(CHAIN, { kind: 'genesis', first: 0, next: 5, attempt: 'g' })).toMatchObject({ kind: 'taken' });
  });

  it('does not take a note of loss for an entry', async () => {
    const { ledger, entries } = await chainOf(0, [10, 10]);
    await ledger.noteLost(CHAIN, { first: 10, next: 20 });
    expect(await ledger.isLost(CHAIN, 10)).toBe(true);
    expect(await ledger.isLost(CHAIN, 0)).toBe(false);
    expect(await ledger.last(CHAIN, null)).toEqual(entries[1]);
  });

  it('keeps partitions, topics and lives of a topic apart', async () => {
    const ledger = new Ledger(new MemoryStore(), LAKE);
    const others = [
      { ...CHAIN, partition: 30 },
      { ...CHAIN, topic: 'service-events.x' },
      { ...CHAIN, incarnation: 'bbbbbbbb' },
    ];
    for (const chain of [CHAIN, ...others]) await ledger.claim(chain, data(0, 10, JSON.stringify(chain)));
    for (const chain of [CHAIN, ...others]) expect((await ledger.last(chain, null))?.attempt).toBe(JSON.stringify(chain));
    expect(await ledger.chains()).toHaveLength(4);
  });
});

describe('a ledger entry', () => {
  const key = entryKey(LAKE, CHAIN, 7);
  const entry = data(7, 10);

  it('reads back as it was written', () => {
    const withVoid = { ...entry, next: 14, voids: [{ first: 9, next: 13 }] };
    const others: LedgerEntry[] = (['genesis', 'void', 'lost'] as const).map((kind) => ({ kind, first: 7, next: 9, attempt: 'x' }));
    for (const each of [entry, withVoid, ...others]) expect(parseEntry(key, 7, formatEntry(each))).toEqual(each);
  });

  it.each([
    ['no JSON', 'x'],
    ['a list', '[]'],
    ['no range', '{"kind":"genesis","attempt":"a"}'],
    ['an empty range', JSON.stringify({ ...entry, next: 7 })],
    ['another first', JSON.stringify({ ...entry, first: 6 })],
    ['a kind of a later release', JSON.stringify({ ...entry, kind: 'moved' })],
    ['no attempt', JSON.stringify({ ...entry, attempt: undefined })],
    ['no object', JSON.stringify({ ...entry, object: '' })],
    ['too few rows', JSON.stringify({ ...entry, rows: 2 })],
    ['no rows', JSON.stringify({ ...entry, rows: 0, voids: [{ first: 7, next: 10 }] })],
    ['times the wrong way round', JSON.stringify({ ...entry, minTimestampMs: 3 })],
    ['a void outside', JSON.stringify({ ...entry, rows: 2, voids: [{ first: 10, next: 11 }] })],
    ['a fraction', JSON.stringify({ ...entry, next: 10.5 })],
    ['too wide a span', JSON.stringify({ ...entry, next: 8 + MAX_DATA_SPAN, rows: 1 + MAX_DATA_SPAN })],
  ])('is refused with %s, by the name of its object', (_, body) => {
    expect(() => parseEntry(key, 7, Buffer.from(body))).toThrow(LedgerDamage);
    expect(() => parseEntry(key, 7, Buffer.from(body))).toThrow(key);
  });
});
