import { ManualClock } from '@tailrace/kafka-kit/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Deliveries, type Delivery, type DeliveryOutcome } from './deliveries.ts';
import type { Notifier, SendOutcome } from './notifier.ts';
import { AT_MS, notification } from './testing/notifications.ts';

/** What one try comes to, and after how long. `deaf`: it never ends, not even when it is aborted. */
type Try = { readonly kind: SendOutcome['kind'] | 'throws' | 'deaf'; readonly ms: number; readonly afterMs?: number };

const someTry: fc.Arbitrary<Try> = fc.record(
  {
    kind: fc.constantFrom('sent', 'sent', 'retry', 'retry', 'refused', 'throws', 'deaf'),
    ms: fc.integer({ min: 0, max: 15_000 }),
    afterMs: fc.integer({ min: 0, max: 400_000 }),
  },
  { requiredKeys: ['kind', 'ms'] },
);

const CHANNELS = ['a', 'b', 'c'];
const LIMITS = { sends: 2, held: 5, tryMs: 5000, giveUpMs: 600_000, retryAfterMs: 60_000 };

interface Told {
  readonly channel: string;
  readonly key: string;
  readonly what: 'begun' | DeliveryOutcome['kind'];
  readonly atMs: number;
  readonly attempts?: number;
}

/** Each channel's tries by their number, over and over. */
type Scripts = Readonly<Record<string, readonly Try[]>>;

async function run(channels: readonly string[], scripts: Scripts, incidents: readonly number[]): Promise<readonly Told[]> {
  const clock = new ManualClock(AT_MS);
  const told: Told[] = [];
  const notifiers = channels.map((name): Notifier => {
    let tries = 0;
    return {
      name,
      send: async ({ key }, signal) => {
        const script = scripts[name] ?? [];
        const each = script[tries++ % script.length] ?? { kind: 'sent', ms: 0 };
        told.push({ channel: name, key, what: 'begun', atMs: clock.nowMs() });
        if (each.kind === 'deaf') return new Promise(() => {});
        await clock.sleep(each.ms, signal);
        if (signal.aborted) return { kind: 'retry', reason: 'aborted' };
        if (each.kind === 'throws') throw new Error('a fault of the notifier');
        if (each.kind === 'sent') return { kind: 'sent' };
        return { kind: each.kind, reason: 'as scripted', ...(each.afterMs === undefined ? {} : { afterMs: each.afterMs }) };
      },
      close: async () => {},
    };
  });
  const ended = new Set<string>();
  const deliveries = new Deliveries(
    notifiers,
    ({ notification: { key }, channel }, { kind }, attempts) => {
      told.push({ channel, key, what: kind, atMs: clock.nowMs(), attempts });
      if (kind === 'retry') return;
      expect(ended, `${channel} ${key} has two ends`).not.toContain(`${channel} ${key}`);
      ended.add(`${channel} ${key}`);
    },
    { clock, random: () => 0.5, limits: LIMITS },
  );
  const pending = new Map<string, Delivery[]>();
  for (const [i, transitions] of incidents.entries())
    for (const channel of channels) {
      const incident = `rule/${i}/0`;
      const names = ['firing', ...Array.from({ length: transitions }, (_, n) => `again-${n + 1}`), 'resolved'];
      const line = names.map((name) => ({ channel, attempts: 0, notification: notification({ incident, key: `${incident}/${name}` }) }));
      pending.set(`${channel} ${incident}`, line);
    }
  const wanted = [...pending.values()].flat().length;
  // The owner offers what is pending on each tick, of an incident nothing behind one that was not taken.
  const offer = (): void => {
    for (const [name, line] of pending) {
      const left = line.findIndex((delivery) => !deliveries.deliver(delivery));
      pending.set(name, left < 0 ? [] : line.slice(left));
    }
    for (const { held } of deliveries.view()) expect(held).toBeLessThanOrEqual(LIMITS.held);
  };
  for (let i = 0; ended.size < wanted && i < 20_000; i++) {
    offer();
    await clock.advance(1000);
  }
  expect(ended.size).toBe(wanted);
  expect(deliveries.view().map(({ held, oldestMs }) => ({ held, oldestMs }))).toEqual(
    channels.map(() => ({ held: 0, oldestMs: undefined })),
  );
  return told;
}

const scripts = fc.record(
  Object.fromEntries(CHANNELS.map((name) => [name, fc.array(someTry, { minLength: 1, maxLength: 12 })])) as Record<
    string,
    fc.Arbitrary<Try[]>
  >,
);
const incidents = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 8 });

test('every delivery comes to one end, an incident in its order, and a channel never waits for another', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, incidents, async (script, some) => {
      const told = await run(CHANNELS, script, some);
      for (const channel of CHANNELS) {
        const own = told.filter((each) => each.channel === channel);
        const open = new Map<string, string>();
        const tries = new Map<string, number>();
        for (const { key, what, attempts } of own) {
          const incident = key.slice(0, key.lastIndexOf('/'));
          if (what === 'begun') {
            // The one before it came to its end: it was taken out of here.
            expect(open.get(incident) ?? key, `${key} was sent before the end of what came before it`).toBe(key);
            open.set(incident, key);
            tries.set(key, (tries.get(key) ?? 0) + 1);
          } else {
            expect(attempts).toBe(tries.get(key));
            if (what !== 'retry') open.delete(incident);
          }
        }
        expect(open.size).toBe(0);
        expect(await run([channel], script, some), `${channel} alone does the same at the same times`).toEqual(own);
      }
    }),
    { numRuns: 40 },
  );
}, 60_000);
