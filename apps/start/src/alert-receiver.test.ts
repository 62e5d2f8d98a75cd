import { afterEach, expect, it } from 'vitest';
import { AlertReceiver } from './alert-receiver.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const open: AlertReceiver[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((receiver) => receiver.close()));
});

async function started(): Promise<AlertReceiver> {
  const receiver = await AlertReceiver.start(() => NOW);
  open.push(receiver);
  return receiver;
}

function notification(transition: string, more: object = {}): object {
  return {
    version: 1,
    key: `errors/ab12/1/${transition}`,
    status: transition === 'resolved' ? 'resolved' : 'firing',
    rule: 'errors',
    group: { service: 'web', region: null },
    severity: 'error',
    summary: 'web answers with errors',
    evidence: { broker_time: new Date(NOW - 900).toISOString() },
    ...more,
  };
}

async function post(receiver: AlertReceiver, body: unknown): Promise<number> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (await fetch(receiver.url, { method: 'POST', body: text })).status;
}

it('counts alerts that begin, each once however often it is told, and shows the latest first', async () => {
  const receiver = await started();
  for (const transition of ['firing', 'firing', 'again-1', 'resolved']) expect(await post(receiver, notification(transition))).toBe(204);
  expect(receiver.fired).toBe(1);
  expect(receiver.told.map(({ status }) => status)).toEqual(['resolved', 'firing', 'firing']);
  expect(receiver.told.map(({ again }) => again)).toEqual([false, true, false]);
  expect(receiver.told[2]).toEqual({
    status: 'firing',
    again: false,
    rule: 'errors',
    group: { service: 'web', region: null },
    severity: 'error',
    summary: 'web answers with errors',
    toldMs: NOW,
    delayMs: 900,
  });
});

it('of an alert without an event, like an absence, it knows no delay', async () => {
  const receiver = await started();
  await post(receiver, notification('firing', { evidence: { broker_time: null } }));
  expect(receiver.told[0]?.delayMs).toBeUndefined();
});

it('does not take what is no notification, and goes on', async () => {
  const receiver = await started();
  const odd = [
    '',
    '{',
    '[]',
    'null',
    { key: 'k/firing' },
    notification('firing', { status: 'maybe' }),
    notification('firing', { rule: 5 }),
  ];
  for (const body of [...odd, 'x'.repeat(300_000)]) expect(await post(receiver, body).catch(() => 400)).toBe(400);
  expect([receiver.fired, receiver.told]).toEqual([0, []]);
  expect(await post(receiver, notification('firing'))).toBe(204);
});
