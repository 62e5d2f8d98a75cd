import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { countsIn, GatewayTotals } from './gateway-counts.ts';

const metricsWith = (accepted: number, rejected: number, canaries = 0) =>
  `# TYPE tailrace_gateway_events_total counter\ntailrace_gateway_events_total{outcome="accepted"} ${accepted}\n` +
  `tailrace_gateway_events_total{outcome="rejected"} ${rejected}\ntailrace_gateway_events_total{outcome="unknown"} 9\n` +
  `tailrace_gateway_canary_events_total ${canaries}\n`;

it('reads the counts, also large ones, and takes no missing one for zero', () => {
  expect(countsIn(metricsWith(12, 3))).toEqual({ accepted: 12, rejected: 3 });
  expect(countsIn(metricsWith(1e21, 0)).accepted).toBe(1e21);
  expect(countsIn(metricsWith(12, 3, 5))).toEqual({ accepted: 7, rejected: 3 });
  expect(() => countsIn('tailrace_gateway_events_total{outcome="accepted"} 1\n')).toThrow('do not count rejected');
});

it('counts on over gateways that end and start again, however much each has counted', async () => {
  let body = metricsWith(10, 1);
  const server = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gateway = { pid: 1 as number | undefined, up: true, url: () => (gateway.up ? url : undefined) };
  const totals = new GatewayTotals(gateway);
  expect(await totals.read()).toEqual({ accepted: 10, rejected: 1 });
  body = metricsWith(20, 1);
  expect(await totals.read()).toEqual({ accepted: 20, rejected: 1 });
  gateway.up = false;
  await expect(totals.read()).rejects.toThrow('not started');
  Object.assign(gateway, { pid: 2, up: true });
  body = metricsWith(25, 0);
  expect(await totals.read()).toEqual({ accepted: 45, rejected: 1 });
  expect(await totals.read()).toEqual({ accepted: 45, rejected: 1 });
  server.close();
  server.closeAllConnections();
  await expect(totals.read()).rejects.toThrow();
});
