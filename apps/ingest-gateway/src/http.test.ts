import { createMetrics } from '@tailrace/service';
import { afterEach, expect, test, vi } from 'vitest';
import { ANSWERS, type AnswerBody, type AnswerCode } from './answers.ts';
import { startGateway } from './server.ts';
import { event, listeningGateway } from './testing/gateway.ts';
import { postHead, RawConnection } from './testing/raw-http.ts';

const good = event({ customer_id: 'c1' });
const post = postHead(good.length) + good;
const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function started(environment?: Readonly<Record<string, string>>) {
  const made = await listeningGateway(environment);
  stops.push(() => made.gateway.stop(0));
  return { ...made, connection: await RawConnection.to(made.gateway.url) };
}

test('one connection carries many posts', async () => {
  const { connection, publisher } = await started();
  for (let i = 1; i <= 3; i++) {
    connection.send(post);
    await vi.waitFor(() => expect(connection.received.match(/HTTP\/1.1 200 OK.*?{"accepted":1}\n/gs)).toHaveLength(i));
  }
  expect(publisher.published).toHaveLength(3);
});

test('a chunked body, and a client that waits for 100 Continue', async () => {
  const { connection } = await started();
  connection.send('POST /v1/events HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n');
  expect(await connection.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  for (const half of [good.slice(0, 30), good.slice(30)]) connection.send(`${half.length.toString(16)}\r\n${half}\r\n`);
  connection.send('0\r\n\r\n');
  expect(await connection.until('accepted')).toContain('{"accepted":1}');
});

test.each([
  ['headers that do not end', 'POST /v1/events HTTP/1.1\r\nhost: a\r\n'],
  ['a body that does not come', postHead(100)],
])('slow loris: %s are cut off with 408', async (_, begun) => {
  const { connection, publisher } = await started({ GATEWAY_REQUEST_TIMEOUT_MS: '300' });
  connection.send(begun);
  await connection.closed;
  expect(connection.received).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n.*"error":"request_timeout"/s);
  expect(publisher.published).toEqual([]);
});

test.each([
  ['400', 'no HTTP', 'hello\r\n\r\n', 'bad_request'],
  ['400', 'two lengths', 'POST /v1/events HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 'bad_request'],
  ['431', 'headers of 20 KB', `GET /livez HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 'headers_too_large'],
])('%s in JSON for %s', async (status, _, request, error) => {
  const { connection } = await started();
  connection.send(request);
  await connection.closed;
  expect(connection.received).toMatch(new RegExp(`^HTTP/1.1 ${status} .*"error":"${error}"`, 's'));
});

test.each([
  [
    '417',
    'an expectation',
    `POST /v1/events HTTP/1.1\r\nhost: a\r\nexpect: a-miracle\r\ncontent-length: ${good.length}\r\n\r\n${good}`,
    'expectation_failed',
  ],
  ['400', 'no Host', 'POST /v1/events HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}', 'missing_host'],
  ['400', 'no Host, of a probe', 'GET /livez HTTP/1.1\r\n\r\n', 'missing_host'],
  ['400', 'no Host, of an unknown path', 'GET /x HTTP/1.1\r\n\r\n', 'missing_host'],
  ['400', 'a method that HTTP has not', 'MEND /v1/events HTTP/1.1\r\nhost: a\r\n\r\n', 'bad_request'],
  ['400', 'a coding that does not end in chunked', 'POST /v1/events HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n', 'bad_request'],
  ['400', 'a chunk without size', 'POST /v1/events HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n', 'bad_request'],
  ['400', 'HTTP/2 without asking', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'bad_request'],
  ['405', 'a proxy’s method', 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n', 'method_not_allowed'],
  ['405', 'a method of others', 'PROPFIND /v1/events HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 'method_not_allowed'],
  [
    '405',
    'an upgrade',
    'GET /v1/events HTTP/1.1\r\nhost: a\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n',
    'method_not_allowed',
  ],
])('%s in our own form where Node would answer by itself or not at all: %s', async (status, _, request, error) => {
  const { connection, publisher } = await started();
  connection.send(request);
  await connection.closed;
  const [head = '', body = ''] = connection.received.split('\r\n\r\n');
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} .*content-type: application/json`, 'is'));
  const told: AnswerBody = JSON.parse(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1));
  expect(told).toEqual({ error, message: expect.stringContaining(ANSWERS[error as AnswerCode].message) });
  expect(publisher.published).toEqual([]);
});

test('HTTP/1.0 demands no Host', async () => {
  const { connection } = await started();
  connection.send(`POST /v1/events HTTP/1.0\r\ncontent-length: ${good.length}\r\n\r\n${good}`);
  await connection.closed;
  expect(connection.received).toMatch(/^HTTP\/1.1 200 .*{"accepted":1}/s);
});

test('413 is read by a client that first sends all of its large body', async () => {
  const { gateway } = await started({ GATEWAY_MAX_BODY_BYTES: '4096', GATEWAY_MAX_EVENT_BYTES: '1024' });
  const answered = await fetch(`${gateway.url}/v1/events`, { method: 'POST', body: Buffer.alloc(20_000_000, 'x') });
  expect([answered.status, (await answered.json()) as unknown]).toMatchObject([413, { error: 'body_too_large' }]);
});

test('a body without end is answered with 413 and its connection does not live on', async () => {
  const { connection } = await started({
    GATEWAY_MAX_BODY_BYTES: '4096',
    GATEWAY_MAX_EVENT_BYTES: '1024',
    GATEWAY_REQUEST_TIMEOUT_MS: '500',
  });
  connection.send('POST /v1/events HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
  const sending = setInterval(() => connection.send(`1000\r\n${'x'.repeat(4096)}\r\n`), 5);
  expect(await connection.until('body_too_large')).toMatch(/^HTTP\/1.1 413 /);
  await connection.closed;
  clearInterval(sending);
});

test('a client that goes away in its body gives its bytes back and is counted', async () => {
  const { connection, metrics } = await started();
  connection.send(postHead(1000) + good);
  const figure = async (line: string) => expect(await metrics.metrics()).toContain(line);
  await vi.waitFor(() => figure(`tailrace_gateway_in_flight_bytes ${good.length}`));
  connection.socket.destroy();
  await vi.waitFor(() => figure('tailrace_gateway_clients_gone_total 1'));
  await figure('tailrace_gateway_in_flight_bytes 0');
});

test('a stop answers what is in flight, refuses what comes after, and then nobody listens', async () => {
  const { gateway, publisher, connection } = await started();
  let release: () => void = () => undefined;
  publisher.held = new Promise((resolve) => {
    release = resolve;
  });
  const fetched = fetch(`${gateway.url}/v1/events`, { method: 'POST', body: good });
  connection.send(post);
  await vi.waitFor(() => expect(publisher.publishCalls).toBe(2));
  const stopped = gateway.stop(10_000);
  connection.send(post);
  await expect(RawConnection.to(gateway.url)).rejects.toThrow('ECONNREFUSED');
  release();
  expect(await (await fetched).json()).toEqual({ accepted: 1 });
  await connection.closed;
  await stopped;
  expect(connection.received).toMatch(/^HTTP\/1.1 200 OK\r\n.*connection: close.*{"accepted":1}\n/is);
  expect(publisher.published).toHaveLength(2);
});

test('a stop keeps its deadline when a post is stuck', async () => {
  const { gateway, publisher, connection } = await started();
  publisher.held = new Promise(() => undefined);
  connection.send(post);
  await vi.waitFor(() => expect(publisher.publishCalls).toBe(1));
  const begunMs = performance.now();
  await gateway.stop(300);
  expect(performance.now() - begunMs).toBeLessThan(1_000);
  await connection.closed;
  expect(connection.received).toBe('');
});

test('a port that is taken is one sentence that names the variable', async () => {
  const { gateway, options } = await started();
  const config = { ...options.config, port: Number(new URL(gateway.url).port) };
  await expect(startGateway({ ...options, config, metrics: createMetrics() })).rejects.toThrow(
    /the port is taken by another process. Set GATEWAY_HOST or GATEWAY_PORT to another one/,
  );
});
