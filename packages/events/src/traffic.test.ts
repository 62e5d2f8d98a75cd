import { describe, expect, it } from 'vitest';
import { serviceEventFields } from './fields.ts';
import { generateEvents, type TrafficOptions } from './traffic.ts';
import { checkEventBytes } from './validate.ts';

function take(seed: number, count: number) {
  let ms = Date.UTC(2026, 0, 1);
  const events = generateEvents({ seed, nowMs: () => ms++ });
  return Array.from({ length: count }, () => events.next().value);
}

function countBy<T>(items: readonly T[], key: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
  return counts;
}

describe('generated traffic', () => {
  const events = take(1, 50_000);

  it('is the same for the same seed and another for another', () => {
    expect(take(1, 1000)).toEqual(events.slice(0, 1000));
    expect(take(2, 1000)).not.toEqual(events.slice(0, 1000));
  });

  it('is valid, in the table’s order and 300 to 350 bytes an event', () => {
    const order = serviceEventFields.map((field) => field.name as string);
    let bytes = 0;
    for (const event of events) {
      const body = Buffer.from(JSON.stringify(event));
      bytes += body.length;
      expect(checkEventBytes(body)).toHaveProperty('event');
      const places = Object.keys(event).map((name) => order.indexOf(name));
      expect(places).toEqual([...places].sort((a, b) => a - b));
    }
    expect(bytes / events.length).toBeGreaterThan(300);
    expect(bytes / events.length).toBeLessThan(350);
  });

  it('has few busy customers and many quiet ones', () => {
    const counts = [...countBy(events, (event) => String(event.customer_id)).values()].sort((a, b) => b - a);
    expect(counts.length).toBeGreaterThan(1000);
    expect((counts[0] ?? 0) / events.length).toBeGreaterThan(0.05);
  });

  it('has bursts of errors of one service above a low floor', () => {
    const errors = events.map((event, i) => ({ event, i })).filter(({ event }) => event.level === 'error');
    expect(errors.length / events.length).toBeLessThan(0.1);
    const windows = countBy(errors, ({ event, i }) => `${event.service} ${Math.floor(i / 1000)}`);
    expect(Math.max(...windows.values())).toBeGreaterThan(30);
  });

  it('can do without bursts, and can have them at fixed places', () => {
    const failures = (bursts: TrafficOptions['bursts'], events: number): number[] => {
      const generator = generateEvents({ seed: 3, nowMs: () => 0, ...(bursts === undefined ? {} : { bursts }) });
      const codes = Array.from({ length: events }, () => generator.next().value.status_code ?? 0);
      const thousands = Array.from({ length: events / 1000 }, (_, at) => codes.slice(at * 1000, (at + 1) * 1000));
      return thousands.map((some) => some.filter((code) => code >= 500).length);
    };
    expect(Math.max(...failures('none', 60_000))).toBeLessThan(15);
    const [calm, first = 0, , , second = 0] = failures({ everyEvents: 3000, events: 500 }, 6000);
    expect(calm).toBeLessThan(15);
    // From 1500 to 2000 and from 4500 to 5000: 40 % of one service, whichever it is.
    expect(Math.min(first, second)).toBeGreaterThan(15);
  });
});
