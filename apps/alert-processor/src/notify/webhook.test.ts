import { createHmac } from 'node:crypto';
import { type Clock, systemClock } from '@tailrace/kafka-kit';
import { expect, test } from 'vitest';
import type { Lookup } from './address-guard.ts';
import { HttpNotifier, type HttpOptions } from './http-notifier.ts';
import { AT_MS, notification } from './testing/notifications.ts';
import { receive, receiveRaw } from './testing/receiver.ts';
import { webhookMessage } from './webhook.ts';

const clock: Clock = { ...systemClock, nowMs: () => AT_MS + 999 };

function webhook(url: URL, { secret, ...options }: Partial<HttpOptions> & { readonly secret?: string } = {}): HttpNotifier {
  return new HttpNotifier('oncall', { url, allowPrivate: true, ...options }, clock, (told, nowMs) => webhookMessage(told, nowMs, secret));
}

const never = new AbortController().signal;

test('posts the whole notification, with its key, the time of the try, and a signature over both', async () => {
  await using receiver = await receive((response) => response.writeHead(204).end());
  expect(await webhook(receiver.url, { secret: 'a shared secret' }).send(notification(), never)).toEqual({ kind: 'sent' });
  const [{ method, path, headers, body } = { method: '', path: '', headers: {}, body: '{}' }] = receiver.received;
  expect([method, path, headers['content-type']]).toEqual(['POST', '/alerts?team=a', 'application/json']);
  expect(headers['idempotency-key']).toBe('errors-by-service/0123456789abcdef/1767225600000/firing');
  const timestamp = String(headers['x-tailrace-timestamp']);
  expect(timestamp).toBe('1767225600');
  expect(headers['x-tailrace-signature']).toBe(
    `sha256=${createHmac('sha256', 'a shared secret').update(timestamp).update('.').update(body).digest('hex')}`,
  );
  expect(JSON.parse(body)).toEqual({
    version: 1,
    key: 'errors-by-service/0123456789abcdef/1767225600000/firing',
    incident: 'errors-by-service/0123456789abcdef/1767225600000',
    status: 'firing',
    rule: 'errors-by-service',
    group: { service: 'shop', region: null },
    severity: 'critical',
    summary: 'shop answers with errors',
    labels: { team: 'payments' },
    response: { do: 'Look at the last deployment of the service.', do_not: 'Do not restart the database.' },
    runbook: 'https://runbooks.example.com/errors',
    started_at: '2025-12-31T23:59:00.000Z',
    decided_at: '2026-01-01T00:00:00.000Z',
    evidence: {
      text: 'count 153 > 100 in 1 min',
      value: 153,
      threshold: 100,
      events: 153,
      window_start: '2025-12-31T23:59:00.000Z',
      window_end: '2026-01-01T00:00:00.000Z',
      complete_up_to: '2025-12-31T23:59:00.000Z',
      missing: ['partition 3 is 60 s behind'],
      broker_time: '2025-12-31T23:59:59.500Z',
      event_time: '2025-12-31T23:59:59.300Z',
    },
  });
});

test('without a secret nothing is signed', async () => {
  await using receiver = await receive((response) => response.end());
  await webhook(receiver.url).send(notification(), never);
  expect(receiver.received[0]?.headers).not.toHaveProperty('x-tailrace-signature');
});

test.each([
  [200, {}, { kind: 'sent' }],
  [202, {}, { kind: 'sent' }],
  [301, { location: '/elsewhere' }, { kind: 'refused', reason: 'answered 301: redirects are not followed, set the URL that it leads to' }],
  [307, { location: '/elsewhere' }, { kind: 'refused', reason: 'answered 307: redirects are not followed, set the URL that it leads to' }],
  [400, {}, { kind: 'refused', reason: 'answered 400: why it is so' }],
  [401, {}, { kind: 'retry', reason: 'answered 401: why it is so' }],
  [403, {}, { kind: 'retry', reason: 'answered 403: why it is so' }],
  [404, {}, { kind: 'refused', reason: 'answered 404: why it is so' }],
  [408, {}, { kind: 'retry', reason: 'answered 408: why it is so' }],
  [425, {}, { kind: 'retry', reason: 'answered 425: why it is so' }],
  [429, { 'retry-after': '120' }, { kind: 'retry', reason: 'answered 429: why it is so', afterMs: 120_000 }],
  [429, { 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' }, { kind: 'retry', reason: 'answered 429: why it is so', afterMs: 59_001 }],
  [429, { 'retry-after': 'soon' }, { kind: 'retry', reason: 'answered 429: why it is so' }],
  [500, {}, { kind: 'retry', reason: 'answered 500: why it is so' }],
  [503, { 'retry-after': '0' }, { kind: 'retry', reason: 'answered 503: why it is so', afterMs: 0 }],
])('an answer of %i with %o', async (status, headers, outcome) => {
  await using receiver = await receive((response) => response.writeHead(status, headers).end('why\u001b it\r\n is so'));
  expect(await webhook(receiver.url).send(notification(), never)).toEqual(outcome);
  expect(receiver.received).toHaveLength(1);
});

test('a receiver that nobody listens at, or whose name is unknown, is tried again', async () => {
  const { url } = await (async () => {
    await using gone = await receive(() => {});
    return gone;
  })();
  expect(await webhook(url).send(notification(), never)).toEqual({ kind: 'retry', reason: expect.stringContaining('ECONNREFUSED') });
  const unknown: Lookup = (name, _options, callback) => callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`)), []);
  expect(await webhook(new URL('http://hooks.example.com/'), { lookup: unknown }).send(notification(), never)).toEqual({
    kind: 'retry',
    reason: 'getaddrinfo ENOTFOUND hooks.example.com',
  });
});

test('an answer that is no HTTP, and a socket that is half closed or cut, is tried again', async () => {
  await using garbage = await receiveRaw((socket) => socket.on('data', () => socket.write('\u0000 not HTTP at all \r\n\r\n')));
  expect(await webhook(garbage.url).send(notification(), never)).toMatchObject({ kind: 'retry', reason: expect.stringContaining('Parse') });
  await using halfClosed = await receiveRaw((socket) => socket.end());
  expect(await webhook(halfClosed.url).send(notification(), never)).toEqual({ kind: 'retry', reason: 'socket hang up' });
  await using cut = await receiveRaw((socket) => socket.on('data', () => socket.resetAndDestroy()));
  expect(await webhook(cut.url).send(notification(), never)).toMatchObject({ kind: 'retry' });
  await using head = await receiveRaw((socket) => socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`)));
  expect(await webhook(head.url).send(notification(), never)).toMatchObject({ kind: 'retry', reason: expect.stringContaining('Header') });
});

test('an endless body is read up to a bound: its status counts', async () => {
  let written = 0;
  await using receiver = await receive((response) => {
    response.writeHead(500);
    const more = (): void => {
      while (!response.destroyed && response.write('why '.repeat(1000))) written += 4000;
    };
    response.on('drain', more);
    more();
  });
  const outcome = await webhook(receiver.url).send(notification(), never);
  expect(outcome).toMatchObject({ kind: 'retry', reason: expect.stringMatching(/^answered 500: (why ){1000,1024}w?h?y?$/) });
  expect(written).toBeLessThan(50_000_000);
  await using trickle = await receive((response) => {
    response.writeHead(200).write('o');
  });
  expect(await webhook(trickle.url).send(notification(), never)).toEqual({ kind: 'sent' });
});

test('an answer 101 is tried again, and settles the post whether or not it goes on', async () => {
  for (const head of ['HTTP/1.1 101\r\n\r\n', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n']) {
    await using upgrading = await receiveRaw((socket) => socket.once('data', () => socket.write(head)));
    const limit = new AbortController();
    const sent = webhook(upgrading.url).send(notification(), limit.signal);
    const outcome = await Promise.race([sent, systemClock.sleep(3000).then(() => 'nothing')]);
    expect(outcome).toEqual({ kind: 'retry', reason: 'answered 101' });
  }
});

test('a receiver that accepts and never answers is left soon after the signal', async () => {
  await using silent = await receiveRaw(() => {});
  const limit = new AbortController();
  const sent = webhook(silent.url).send(notification(), limit.signal);
  while (silent.connections() === 0) await systemClock.sleep(5);
  limit.abort();
  expect(await sent).toEqual({ kind: 'retry', reason: 'The operation was aborted' });
});

test('private addresses are not connected to, however they are spelled and whatever a name pointed to before', async () => {
  await using receiver = await receive((response) => response.end());
  const { port } = receiver.url;
  for (const host of ['127.0.0.1', '2130706433', '0x7f.1', 'localhost', '[::ffff:127.0.0.1]']) {
    const outcome = await webhook(new URL(`http://${host}:${port}/`), { allowPrivate: false }).send(notification(), never);
    expect(outcome, host).toMatchObject({ kind: 'retry', reason: expect.stringContaining('set allow_private to true') });
  }
  // DNS rebinding: a public address for whoever checks first, a private one for the connection.
  let lookedUp = 0;
  const rebinding: Lookup = (_name, _options, callback) =>
    callback(null, [{ address: lookedUp++ === 0 ? '8.8.8.8' : '127.0.0.1', family: 4 }]);
  rebinding('hooks.example.com', { all: true }, () => {});
  const rebound = webhook(new URL(`http://hooks.example.com:${port}/`), { allowPrivate: false, lookup: rebinding });
  expect(await rebound.send(notification(), never)).toMatchObject({ kind: 'retry', reason: expect.stringContaining('is at 127.0.0.1') });
  expect(receiver.received).toEqual([]);
  const allowed = webhook(new URL(`http://hooks.example.com:${port}/`), { allowPrivate: true, lookup: rebinding });
  expect(await allowed.send(notification(), never)).toEqual({ kind: 'sent' });
});
