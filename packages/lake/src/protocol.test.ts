import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimStands, declareHole, extendChain, openChain, repairClaim } from './claims.ts';
import { ProtocolWorld } from './testing/protocol-world.ts';
import type { Rules } from './testing/simulated-archiver.ts';

const RUNS = 2_000;
/** A broken rule is seen in far fewer. */
const MOST_RUNS_TO_NOTICE = 3_000;

/** How often each of these must have happened in all runs together: else they prove nothing about it. */
const MUST_HAPPEN = {
  killed: 1000,
  met: 1000,
  reopened: 100,
  lost: 100,
  cut: 100,
  'void inside': 1000,
  'repair made': 50,
  'repair rest': 5,
  'repair lost': 20,
  'other life lost': 20,
};

/** Rules of the protocol, each broken in the way in which a writer of an archiver might break it. */
const BROKEN: readonly { readonly what: string; readonly rules?: Partial<Rules>; readonly overwrites?: boolean }[] = [
  {
    what: 'the last claim is not repaired when a chain is opened',
    rules: {
      openChain: async (ports, chain, log) => {
        const last = await ports.ledger.last(chain, log.hint);
        return last === undefined ? await openChain(ports, chain, log) : { end: last.next, repair: undefined };
      },
    },
  },
  {
    what: 'the group’s commit is taken for the position',
    rules: { openChain: async (ports, chain, log) => ({ ...(await openChain(ports, chain, log)), end: log.hint ?? log.start }) },
  },
  {
    what: 'the object is put before its claim',
    rules: {
      extendChain: async (ports, chain, entry, body, onClaimed) => {
        await ports.ledger.store.putIfAbsent(entry.object, body);
        return await extendChain(ports, chain, entry, body, onClaimed);
      },
    },
  },
  {
    what: 'a claim is answered before its object stands',
    rules: {
      extendChain: async (ports, chain, entry, body, onClaimed) => {
        const claim = await ports.ledger.claim(chain, entry);
        if (claim.kind === 'taken') return await extendChain(ports, chain, entry, body, onClaimed);
        return { end: entry.next, met: undefined };
      },
    },
  },
  {
    what: 'another attempt’s claim is met without its object being made sure of',
    rules: {
      extendChain: async (ports, chain, entry, body, onClaimed) => {
        const claim = await ports.ledger.claim(chain, entry);
        if (claim.kind === 'claimed' || claim.by.kind !== 'data') return await extendChain(ports, chain, entry, body, onClaimed);
        return { end: claim.by.next, met: { entry: claim.by, repair: { kind: 'stands' } } };
      },
    },
  },
  { what: 'where another attempt’s entry ends is not heeded', rules: { goesOnBehindOthers: false } },
  {
    what: 'a loss is declared without a look at the log',
    rules: { lostEntry: async (_, _chain, range) => ({ kind: 'lost', ...range, attempt: randomUUID() }) },
  },
  {
    what: 'a loss is declared behind the chain’s end as somebody remembers it',
    rules: {
      declareHole: async (ports, chain, entry) => {
        const extended = await declareHole(ports, chain, entry);
        return extended.met === undefined ? extended : await declareHole(ports, chain, { ...entry, first: entry.next - 1 });
      },
    },
  },
  { what: 'the topic is not looked up before a claim', rules: { checksTopic: false } },
  { what: 'what may be the new topic’s is not cut off', rules: { cutsUnproven: false } },
  { what: 'a void is believed without a second reading', rules: { confirmsVoids: false } },
  { what: 'the chains of other lives are left as they are', rules: { endOtherLives: async () => [] } },
  {
    what: 'a claim of which a rest is left is noted as lost',
    rules: {
      openChain: async (ports, chain, log) => {
        const last = await ports.ledger.last(chain, log.hint);
        if (last?.kind === 'data' && last.first < log.start && !(await claimStands(ports.ledger, chain, last))) {
          await ports.ledger.noteLost(chain, last);
          return { end: last.next, repair: { entry: last, how: await repairClaim(ports, chain, last) } };
        }
        return await openChain(ports, chain, log);
      },
    },
  },
  { what: 'the store lets a second writer overwrite', overwrites: true },
];

describe('the protocol of the lake', () => {
  it('covers every offset exactly once and declares exactly what was gone, whoever dies, comes back, expires or is made anew when', async () => {
    const happened = new Map<string, number>();
    await fc.assert(
      // A run is a function of its seed alone: a smaller seed is no smaller run.
      fc.asyncProperty(fc.noShrink(fc.nat()), async (seed) => {
        const run = await ProtocolWorld.run(seed);
        expect(run.problems, `ProtocolWorld.run(${seed})`).toEqual([]);
        for (const [what, count] of run.happened) happened.set(what, (happened.get(what) ?? 0) + count);
      }),
      { numRuns: RUNS },
    );
    for (const [what, least] of Object.entries(MUST_HAPPEN)) expect(happened.get(what) ?? 0, what).toBeGreaterThan(least);
  }, 60_000);

  it.each(BROKEN)(
    'notices when $what',
    async ({ rules, overwrites }) => {
      const seeds = Array.from({ length: MOST_RUNS_TO_NOTICE }, (_, seed) => seed);
      let noticed: number | undefined;
      for (const seed of seeds) {
        if ((await ProtocolWorld.run(seed, rules, overwrites)).problems.length === 0) continue;
        noticed = seed;
        break;
      }
      expect(noticed).toBeDefined();
    },
    60_000,
  );
});
