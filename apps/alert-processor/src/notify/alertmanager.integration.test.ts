import { systemClock } from '@tailrace/kafka-kit';
import { describe, expect, test } from 'vitest';
import { alertmanagerMessage } from './alertmanager.ts';
import { HttpNotifier } from './http-notifier.ts';
import { AT_MS, notification } from './testing/notifications.ts';
import { findAlertmanager, startAlertmanager } from './testing/real-alertmanager.ts';

const HOLD_MS = 7 * 86_400_000;
const never = new AbortController().signal;

// Built from its module where none is installed: a minute, once a machine.
const program = await findAlertmanager();

describe.skipIf(program === undefined)('a real Alertmanager', () => {
  test('takes an alert, goes on having it when it is told again, and lets it go when it is resolved', async () => {
    await using alertmanager = await startAlertmanager(program ?? '');
    const url = new URL('/api/v2/alerts', alertmanager.url);
    const notifier = new HttpNotifier('am', { url, allowPrivate: true }, systemClock, (told) => alertmanagerMessage(told, HOLD_MS));
    const nowMs = Date.now();
    const odd = { service: 'a "shop" <&>\n\u0000 \u{1F600}', 'attributes.tier': '\uD83D', region: null };
    const firing = notification({ group: odd, startedMs: nowMs - 60_000, decidedMs: nowMs - 1000 });
    const other = notification({ ...firing, rule: 'slow-checkout', group: {} });
    for (const told of [firing, other, { ...firing, decidedMs: nowMs }]) expect(await notifier.send(told, never)).toEqual({ kind: 'sent' });
    const listed = (await alertmanager.alerts()).map(({ labels: { alertname }, endsAt }) => ({ alertname, endsMs: Date.parse(endsAt) }));
    expect(listed.sort((a, b) => Number(a.alertname && b.alertname && a.alertname > b.alertname) - 0.5)).toEqual([
      { alertname: 'errors-by-service', endsMs: nowMs + HOLD_MS },
      { alertname: 'slow-checkout', endsMs: nowMs - 1000 + HOLD_MS },
    ]);
    const [first] = (await alertmanager.alerts()).filter(({ labels: { alertname } }) => alertname === 'errors-by-service');
    expect(first).toMatchObject({
      labels: { service: 'a "shop" <&> \u{1F600}', severity: 'critical', team: 'payments' },
      annotations: { do_not: 'Do not restart the database.' },
      startsAt: new Date(nowMs - 60_000).toISOString(),
      generatorURL: 'https://runbooks.example.com/errors',
    });
    expect(await notifier.send({ ...firing, status: 'resolved', decidedMs: Date.now() }, never)).toEqual({ kind: 'sent' });
    expect((await alertmanager.alerts()).map(({ labels }) => labels.alertname)).toEqual(['slow-checkout']);
  });

  test('takes an incident whose start lies ahead of its end', async () => {
    await using alertmanager = await startAlertmanager(program ?? '');
    const url = new URL('/api/v2/alerts', alertmanager.url);
    const notifier = new HttpNotifier('am', { url, allowPrivate: true }, systemClock, (told) => alertmanagerMessage(told, HOLD_MS));
    const nowMs = Date.now();
    const ahead = notification({ startedMs: nowMs + 60_000, decidedMs: nowMs });
    for (const status of ['firing', 'resolved'] as const)
      expect(await notifier.send({ ...ahead, status }, never)).toEqual({ kind: 'sent' });
  });

  test('refuses what is none of its alerts, which is not tried again', async () => {
    await using alertmanager = await startAlertmanager(program ?? '');
    const url = new URL('/api/v2/alerts', alertmanager.url);
    const notifier = new HttpNotifier('am', { url, allowPrivate: true }, systemClock, () => ({ body: '[{"labels":{}}]' }));
    expect(await notifier.send(notification({ decidedMs: AT_MS }), never)).toMatchObject({
      kind: 'refused',
      reason: expect.stringMatching(/^answered 4\d\d: /),
    });
  });
});
