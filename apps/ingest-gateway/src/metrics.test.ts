import { serviceEventFields } from '@tailrace/events';
import { metricFaults } from '@tailrace/kafka-kit/testing';
import { createMetrics } from '@tailrace/service';
import { expect, test } from 'vitest';
import { answer } from './answers.ts';
import { Rejections } from './intake/rejections.ts';
import { GATEWAY_METRICS } from './metric-table.ts';
import { createGatewayMetrics } from './metrics.ts';
import { event, postingGateway } from './testing/gateway.ts';

test('every row of the table is fed, and only with the labels and values that the row names', async () => {
  const registry = createMetrics();
  const metrics = createGatewayMetrics(registry, () => 7);
  const rejections = new Rejections();
  rejections.addTooLarge(1, 'is too large');
  metrics.answered({ ...answer('deadline_passed'), body: { accepted: 1, rejected: 1, withdrawn: 1, unknown: 1 } });
  metrics.clientGone();
  metrics.received(100);
  metrics.read({ records: [], lines: [], bytes: 90, withoutKey: 1, canaries: [], rejections, layout: 'lines' });
  metrics.acknowledged(0.01);
  metrics.canaries(2);
  expect(await metricFaults(registry, GATEWAY_METRICS)).toEqual([]);
});

test('canaries are counted a second time, so that they can be subtracted, and only those that were accepted', async () => {
  const { post, metrics } = postingGateway();
  await post([event({ service: 'tailrace.canary' }), event({}), event({ service: 'tailrace.canary', status_code: -1 })].join('\n'));
  const text = await metrics.metrics();
  expect(text).toContain('tailrace_gateway_events_total{outcome="accepted"} 2\n');
  expect(text).toContain('tailrace_gateway_canary_events_total 1\n');
});

test('reasons for refused events do not grow with what is posted', async () => {
  const { post, metrics } = postingGateway();
  const odd = Array.from({ length: 300 }, (_, n) =>
    event({ [`field ${n}`]: n, [serviceEventFields[n % serviceEventFields.length]?.name ?? '']: [n] }),
  );
  await post([...odd, ...Array.from({ length: 100 }, (_, n) => `no JSON ${n}`)].join('\n'));
  const reasons = [...(await metrics.metrics()).matchAll(/rejected_events_total\{reason="(.*)"\}/g)].map(([, reason]) => reason);
  expect(reasons.length).toBeGreaterThan(5);
  expect(reasons.length).toBeLessThanOrEqual(serviceEventFields.length + 1);
});
