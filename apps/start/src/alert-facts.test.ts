import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { factsIn, readAlertFacts } from './alert-facts.ts';

const METRICS = `# TYPE tailrace_alert_firing gauge
tailrace_alert_firing 12
tailrace_alert_waiting_notifications{channel="oncall"} 40
tailrace_alert_waiting_notifications{channel="chat"} 8
tailrace_alert_sends_total{channel="oncall",outcome="sent"} 30
tailrace_alert_sends_total{channel="oncall",outcome="retry"} 99
tailrace_alert_sends_total{channel="oncall",outcome="refused"} 1
tailrace_alert_sends_total{channel="chat",outcome="given-up"} 2
`;
const READYZ = JSON.stringify({
  state: 'degraded',
  checks: [
    { name: 'panes', state: 'ok', sentence: 'fine' },
    { name: 'rules', state: 'degraded', sentence: 'refused' },
  ],
});

let close = (): void => {};
afterEach(() => close());

it('what fires, what waits and what nobody was told is read from the metrics, and what becomes of the rules from /readyz', () => {
  expect(factsIn(METRICS, READYZ)).toEqual({ firing: 12, waiting: 48, untold: 3, rules: { refused: true, sentence: 'refused' } });
  const ok = { state: 'ok', checks: [{ name: 'rules', state: 'ok', sentence: '5 rules hold' }] };
  expect(factsIn('tailrace_alert_firing 0\n', JSON.stringify(ok))).toEqual({
    firing: 0,
    waiting: 0,
    untold: 0,
    rules: { refused: false, sentence: '5 rules hold' },
  });
  expect(() => factsIn('', READYZ)).toThrow('how many alerts fire');
});

it('is asked over HTTP, also while it is not ready, and one who is not there has said nothing', async () => {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/readyz' ? 503 : 200).end(request.url === '/metrics' ? METRICS : READYZ);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  close = () => server.close();
  const facts = await readAlertFacts(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(facts).toMatchObject({ firing: 12, rules: { refused: true } });
  await expect(readAlertFacts(undefined)).rejects.toThrow('is not started');
  await expect(readAlertFacts('http://127.0.0.1:1')).rejects.toThrow();
});
