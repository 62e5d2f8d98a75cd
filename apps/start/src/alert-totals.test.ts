import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { AlertTotals, heardSeconds } from './alert-totals.ts';
import type { Pipeline } from './pipeline.ts';

const metricsOf = (heard: readonly number[]): string =>
  `# TYPE tailrace_alert_reader_heard_seconds gauge\n${heard.map((value, n) => `tailrace_alert_reader_heard_seconds{partition="${n}"} ${value}\n`).join('')}`;

let close = (): void => {};
afterEach(() => close());

it('whose word is the oldest is known only when every partition has one', () => {
  const heard = Array.from({ length: 12 }, (_, n) => n / 10);
  expect(heardSeconds(metricsOf(heard))).toBe(1.1);
  expect(heardSeconds(metricsOf(heard.slice(1)))).toBeUndefined();
  expect(heardSeconds('')).toBeUndefined();
});

it('all is decided when every reader was heard of behind the moment at which all was counted; one who does not answer has not said so', async () => {
  let heard = Array<number>(12).fill(60);
  let lag = 5;
  const server = createServer((_, response) => response.end(metricsOf(heard))).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  close = () => server.close();
  const world = { url: undefined as string | undefined };
  const connections = { environment: {} };
  const pipeline = { alerts: { fired: 2 }, connections, started: () => ({ url: () => world.url }) } as unknown as Pipeline;
  const totals = new AlertTotals(pipeline, async () => lag);
  expect(await totals.decided()).toBe(false);
  world.url = 'http://127.0.0.1:1';
  expect(await totals.decided()).toBe(false);
  lag = 0;
  expect(await totals.decided()).toBe(false);
  // Counted from now on: it is down, then what it has heard is older, of one partition at last.
  expect(await totals.decided()).toBe(false);
  world.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await totals.decided()).toBe(false);
  heard = [60, ...Array<number>(11).fill(0)];
  expect(await totals.decided()).toBe(false);
  await new Promise((resolve) => setTimeout(resolve, 5));
  heard = Array<number>(12).fill(0);
  expect(await totals.decided()).toBe(true);
  // Once it is so it stays so: what is posted later is of no account here.
  heard = [];
  lag = 7;
  expect([await totals.decided(), totals.fired]).toEqual([true, 2]);
});

it('where ALERT_NOTIFIERS names whom to tell it is not known here how many alerts began: no number, and not 0', () => {
  const connections = { environment: { ALERT_NOTIFIERS: 'mine.yaml' } };
  const pipeline = { alerts: { fired: 0 }, connections, started: () => undefined } as unknown as Pipeline;
  expect(new AlertTotals(pipeline, async () => 0).fired).toBeNull();
});
