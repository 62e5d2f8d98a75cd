import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { Deliveries, type DeliveryReport } from './deliveries.ts';
import { HttpNotifier } from './http-notifier.ts';
import { fastClock } from './testing/fast-clock.ts';
import { AT_MS, notification } from './testing/notifications.ts';
import { type Received, receive, receiveRaw } from './testing/receiver.ts';
import { webhookMessage } from './webhook.ts';

/** A minute is one second. */
const TIMES = 60;
const MINUTE_MS = 60_000;
const INCIDENTS = 12;

/** What a receiver does wrong for five minutes, on real sockets. */
const WRONG: Readonly<Record<string, { http: (response: ServerResponse) => void } | { raw: (socket: Socket) => void }>> = {
  'answers 500': { http: (response) => response.writeHead(500).end('internal') },
  'asks for rest by 429': { http: (response) => response.writeHead(429, { 'retry-after': '60' }).end() },
  'never answers': { raw: () => {} },
  'answers garbage': { raw: (socket) => socket.on('data', () => socket.write('\u0000\u0001 no HTTP\r\n\r\n')) },
  'half closes': { raw: (socket) => socket.end() },
  'breaks off within the head': { raw: (socket) => socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Le')) },
  'answers 503 with an endless body': {
    http: (response) => {
      response.writeHead(503);
      const more = (): void => {
        while (!response.destroyed && response.write('sorry '.repeat(500)));
      };
      response.on('drain', more);
      more();
    },
  },
};

const keyOf = ({ headers }: Received): string => String(headers['idempotency-key']);

test('receivers that go wrong for five minutes, each in its way, lose nothing and slow nobody', async () => {
  const clock = fastClock(TIMES, AT_MS);
  const ends: string[] = [];
  const report: DeliveryReport = ({ channel, notification: { key } }, { kind }) => {
    if (kind !== 'retry') ends.push(`${channel} ${key} ${kind}`);
  };
  await using well = await receive((response) => response.writeHead(202).end());
  const away = await (async () => {
    await using gone = await receive(() => {});
    return gone.url;
  })();
  const broken = await Promise.all(
    Object.entries(WRONG).map(async ([name, wrong]) => {
      const server = await ('http' in wrong ? receive(wrong.http) : receiveRaw(wrong.raw));
      return { name, server };
    }),
  );
  const urls = new Map([['well', well.url], ['away', away], ...broken.map(({ name, server }) => [name, server.url] as const)]);
  const notifiers = [...urls].map(
    ([name, url]) => new HttpNotifier(name, { url, allowPrivate: true }, clock, (told, nowMs) => webhookMessage(told, nowMs, 'a secret')),
  );
  // A second of this machine for a try, which is busy with other tests.
  const deliveries = new Deliveries(notifiers, report, { clock, limits: { tryMs: MINUTE_MS } });
  const told = Array.from({ length: INCIDENTS }, (_, i) =>
    (['firing', 'resolved'] as const).map((status) =>
      notification({ incident: `rule/${i}/0`, key: `rule/${i}/0/${status}`, status, decidedMs: AT_MS }),
    ),
  ).flat();
  for (const each of told)
    for (const channel of urls.keys()) expect(deliveries.deliver({ notification: each, channel, attempts: 0 })).toBe(true);

  // Who is well is told meanwhile, whatever the others do.
  await vi.waitFor(() => expect(new Set(well.received.map(keyOf)).size).toBe(told.length), { timeout: 2000 });
  expect(clock.nowMs() - AT_MS).toBeLessThan(2 * MINUTE_MS);
  await clock.sleep(5 * MINUTE_MS - (clock.nowMs() - AT_MS));
  expect(ends.filter((end) => !end.startsWith('well '))).toEqual([]);
  expect(deliveries.view().find(({ channel }) => channel === 'never answers')).toEqual({
    channel: 'never answers',
    held: told.length,
    oldestMs: AT_MS,
    untold: 0,
  });

  // They come back, at the same addresses.
  for (const { server } of broken) await server[Symbol.asyncDispose]();
  const mended = await Promise.all(
    [...urls]
      .filter(([name]) => name !== 'well')
      .map(async ([name, url]) => ({ name, receiver: await receive((response) => response.end(), Number(url.port)) })),
  );
  const wanted = [...urls.keys()].flatMap((channel) => told.map(({ key }) => `${channel} ${key} sent`));
  await vi.waitFor(() => expect(ends.length).toBe(wanted.length), { timeout: 15_000, interval: 100 });
  expect(ends.toSorted()).toEqual(wanted.toSorted());
  for (const { name, receiver } of mended) {
    const keys = receiver.received.map(keyOf);
    expect(new Set(keys).size, name).toBe(told.length);
    for (let i = 0; i < INCIDENTS; i++)
      expect(keys.indexOf(`rule/${i}/0/firing`), `${name}: firing before resolved`).toBeLessThan(keys.indexOf(`rule/${i}/0/resolved`));
    await receiver[Symbol.asyncDispose]();
  }
  await deliveries.close(1000);
}, 60_000);

test('a full channel that never answers takes no more, and takes on when it is well again', async () => {
  const clock = fastClock(TIMES, AT_MS);
  const ends = new Set<string>();
  let answer = false;
  await using receiver = await receive((response) => {
    if (answer) response.end();
  });
  const notifier = new HttpNotifier('slow', { url: receiver.url, allowPrivate: true }, clock, (told, nowMs) =>
    webhookMessage(told, nowMs, undefined),
  );
  const deliveries = new Deliveries([notifier], ({ notification: { key } }, { kind }) => kind === 'sent' && ends.add(key), {
    clock,
    limits: { held: 8 },
  });
  const pending = Array.from({ length: 20 }, (_, i) =>
    notification({ incident: `rule/${i}/0`, key: `rule/${i}/0/firing`, decidedMs: AT_MS }),
  );
  const offer = (): number =>
    pending.filter((each) => !ends.has(each.key) && deliveries.deliver({ notification: each, channel: 'slow', attempts: 0 })).length;
  expect(offer()).toBe(8);
  await clock.sleep(MINUTE_MS);
  expect(offer()).toBe(8);
  answer = true;
  await vi.waitFor(
    () => {
      offer();
      expect(ends.size).toBe(20);
    },
    { timeout: 15_000, interval: 50 },
  );
  await deliveries.close(1000);
}, 30_000);
