import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { AlertTotals, behindSeconds } from './alert-totals.ts';
import type { Pipeline } from './pipeline.ts';

const metricsOf = (behind: readonly number[]): string =>
  `# TYPE tailrace_alert_counted_behind_seconds gauge\n${behind.map((value, n) => `tailrace_alert_counted_behind_seconds{partition="${n}"} ${value}\n`).join('')}`;

let close = (): void => {};
afterEach(() => close());

it('how far behind is known only when every partition says so', () => {
  const behind = Array.from({ length: 12 }, (_, n) => n / 10);
  expect(behindSeconds(metricsOf(behind))).toBe(1.1);
  expect(behindSeconds(metricsOf(behind.slice(1)))).toBeUndefined();
  expect(behindSeconds('')).toBeUndefined();
});

it('all is counted when the partition that is furthest behind is counted beyond the last post; one who does not answer has not said so', async () => {
  let behind = [5, ...Array<number>(11).fill(0.1)];
  const server = createServer((_, response) => response.end(metricsOf(behind))).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  close = () => server.close();
  const world = { url: undefined as string | undefined };
  const pipeline = { alerts: { fired: 2 }, service: () => ({ url: () => world.url }) } as unknown as Pipeline;
  const totals = new AlertTotals(pipeline, Date.now() - 2000);
  expect(await totals.counted()).toBe(false);
  world.url = 'http://127.0.0.1:1';
  expect(await totals.counted()).toBe(false);
  world.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await totals.counted()).toBe(false);
  behind = Array<number>(12).fill(0.3);
  expect(await totals.counted()).toBe(true);
  // Once it is so it stays so: what is posted later is of no account here.
  behind = [];
  expect([await totals.counted(), totals.fired]).toEqual([true, 2]);
});
