import { randomBytes } from 'node:crypto';
import { deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ANSWERS, type AnswerCode } from './answers.ts';
import { event, postingGateway } from './testing/gateway.ts';

const good = event({ customer_id: 'c1' });

test('an event that is too large is its line’s error; 413 when all are', async () => {
  const { post, values } = postingGateway({ GATEWAY_MAX_EVENT_BYTES: '1024' });
  const large = event({ message: 'x'.repeat(1024) });
  const reason = 'is larger than 1024 bytes';
  expect(await post(`${large}\n${good}`)).toMatchObject({ status: 207, body: { accepted: 1, errors: [{ line: 1, field: null, reason }] } });
  expect(await post(`${large}\n${large}`)).toMatchObject({ status: 413, body: { error: 'events_too_large', rejected: 2 } });
  expect(await post(`[${large}]`, { 'content-type': 'application/json' })).toMatchObject({ status: 413 });
  expect(await post(`${large}\n{}`)).toMatchObject({ status: 400, body: { error: 'no_valid_event' } });
  expect(values()).toEqual([good]);
});

test('413 for a body that is too large, announced or not, packed or not', async () => {
  const { post, publisher } = postingGateway({ GATEWAY_MAX_BODY_BYTES: '4096', GATEWAY_MAX_EVENT_BYTES: '1024' });
  const large = `${good}\n`.repeat(100);
  expect(await post(large)).toMatchObject({ status: 413, body: { error: 'body_too_large' } });
  expect(await post(gzipSync(large), { 'content-encoding': 'gzip' })).toMatchObject({ status: 413, body: { error: 'body_too_large' } });
  expect(publisher.published).toEqual([]);
});

test('413 for more events than a post may have, before anything is built of them', async () => {
  const { post } = postingGateway({ GATEWAY_MAX_EVENTS: '3' });
  for (const type of ['application/json', 'text/plain']) {
    const bodyOf = (events: string[]) => (type === 'text/plain' ? events.join('\n') : `[${events.join(',')}]`);
    expect(await post(bodyOf([good, good, good]), { 'content-type': type })).toMatchObject({ status: 200, body: { accepted: 3 } });
    expect(await post(bodyOf([good, good, good, good]), { 'content-type': type })).toMatchObject({
      status: 413,
      body: { error: 'too_many_events' },
    });
  }
});

test('gzip, of one or more members, small and large', async () => {
  const { post, publisher } = postingGateway();
  const headers = { 'content-encoding': 'GZIP' };
  expect((await post(gzipSync(`${good}\n${good}`), headers)).body).toEqual({ accepted: 2 });
  expect((await post(Buffer.concat([gzipSync(`${good}\n`), gzipSync(good)]), headers)).body).toEqual({ accepted: 2 });
  const manyLines = `${good}\n`.repeat(30_000); // 3 MB unpacked: above what is unpacked at once.
  expect((await post(gzipSync(manyLines), headers)).body).toEqual({ accepted: 30_000 });
  expect((await post(gzipSync(manyLines, { level: 0 }), headers)).body).toEqual({ accepted: 30_000 });
  expect(publisher.published.every(({ value }) => value?.toString() === good)).toBe(true);
});

const packed = gzipSync(`${good}\n${good}`);
test.each([
  ['no gzip at all', Buffer.from(good)],
  ['cut off', packed.subarray(0, -9)],
  ['cut in its header', packed.subarray(0, 5)],
  ['a flipped bit', Buffer.concat([packed.subarray(0, 40), Buffer.from([(packed[40] ?? 0) ^ 1]), packed.subarray(41)])],
  ['something behind its end', Buffer.concat([packed, Buffer.from(`\n${good}`)])],
  ['something behind a zero byte', Buffer.concat([packed, Buffer.from(`\0${good}`)])],
])('400 for gzip with %s, and nothing is kept', async (_, body) => {
  const { post, publisher } = postingGateway();
  expect(await post(body, { 'content-encoding': 'gzip' })).toMatchObject({ status: 400, body: { error: 'invalid_gzip' } });
  expect(publisher.published).toEqual([]);
});

test('413 for a gzip bomb', async () => {
  const { post } = postingGateway();
  expect(await post(gzipSync(Buffer.alloc(100_000_000, '\n')), { 'content-encoding': 'gzip' })).toMatchObject({
    status: 413,
    body: { error: 'body_too_large' },
  });
});

test.each(['br', 'zstd', 'deflate', 'gzip, gzip', 'x'])('415 for the coding %s, with the one that is understood', async (coding) => {
  const { status, headers, body } = await postingGateway().post(good, { 'content-encoding': coding });
  expect([status, headers['accept-encoding'], body.error]).toEqual([415, 'gzip', 'unsupported_encoding']);
});

test.each([
  ['gzip', gzipSync(good), {}, 'content-encoding: gzip'],
  ['gzip, as JSON', gzipSync(good), { 'content-type': 'application/json' }, 'content-encoding: gzip'],
  ['deflate', deflateSync(good), {}, 'is deflate'],
  ['deflate of the fastest', deflateSync(good, { level: 1 }), {}, 'is deflate'],
  ['deflate of the best', deflateSync(good, { level: 9 }), {}, 'is deflate'],
  ['zstd', Buffer.from('28b52ffd2004210000', 'hex'), {}, 'is zstd'],
  ['gzip in gzip', gzipSync(gzipSync(good)), { 'content-encoding': 'gzip' }, 'pack it once'],
])('415 for a body that is packed (%s) where no header says so, with the header that is missing', async (_, body, more, says) => {
  const { post, publisher } = postingGateway();
  const { status, headers, body: told } = await post(body, more as Record<string, string>);
  expect([status, headers['accept-encoding'], told.error]).toEqual([415, 'gzip', 'undeclared_encoding']);
  expect(told.message).toContain(says);
  expect(publisher.published).toEqual([]);
});

test('413: each limit that can be met is named with its figure and its setting, and no hint is about something else', async () => {
  const { post, publisher } = postingGateway({
    GATEWAY_MAX_BODY_BYTES: '4096',
    GATEWAY_MAX_EVENT_BYTES: '1024',
    GATEWAY_MAX_EVENTS: '5',
  });
  const large = `${good}\n`.repeat(100);
  const largeEvent = event({ message: 'x'.repeat(1024) });
  const asJson = { 'content-type': 'application/json' };
  const gzip = { 'content-encoding': 'gzip' };
  const cases: readonly (readonly [string | Buffer, Record<string, string>, code: string, limit: string])[] = [
    [large, {}, 'body_too_large', 'As it is sent it may have 4096 bytes (GATEWAY_MAX_BODY_BYTES).'],
    [randomBytes(5000), gzip, 'body_too_large', 'As it is sent it may have 4096 bytes (GATEWAY_MAX_BODY_BYTES).'],
    [gzipSync(large), gzip, 'body_too_large', 'Unpacked it may have 4096 bytes (GATEWAY_MAX_BODY_BYTES).'],
    [largeEvent, {}, 'events_too_large', 'An event may have 1024 bytes (GATEWAY_MAX_EVENT_BYTES).'],
    [
      `${largeEvent}\n${largeEvent}`,
      { 'content-type': 'application/x-ndjson' },
      'events_too_large',
      'An event may have 1024 bytes (GATEWAY_MAX_EVENT_BYTES).',
    ],
    [`[${largeEvent}]`, asJson, 'events_too_large', 'An event may have 1024 bytes (GATEWAY_MAX_EVENT_BYTES).'],
    [largeEvent.replace('{', '{\n'), {}, 'events_too_large', 'An event may have 1024 bytes (GATEWAY_MAX_EVENT_BYTES).'],
    [`${good}\n`.repeat(6), {}, 'too_many_events', 'A post may hold 5 (GATEWAY_MAX_EVENTS).'],
    [`[${Array(6).fill(good)}]`, asJson, 'too_many_events', 'A post may hold 5 (GATEWAY_MAX_EVENTS).'],
  ];
  for (const [body, headers, code, limit] of cases) {
    const { status, body: told } = await post(body, headers);
    expect([status, told.error]).toEqual([413, code]);
    expect(told.message).toBe(`${ANSWERS[code as AnswerCode].message} ${limit}`);
  }
  expect(publisher.published).toEqual([]);
});

test('429 with Retry-After when the bytes in flight are at the bound, and the bytes are given back', async () => {
  const { post, publisher, metrics } = postingGateway({
    GATEWAY_MAX_EVENT_BYTES: '1024',
    GATEWAY_MAX_BODY_BYTES: '1024',
    GATEWAY_MAX_IN_FLIGHT_BYTES: '2048',
  });
  let release: () => void = () => undefined;
  publisher.held = new Promise((resolve) => {
    release = resolve;
  });
  const body = `${good}\n`.repeat(9).slice(0, -1);
  const held = [post(body), post(body)];
  while (publisher.publishCalls < 2) await new Promise(setImmediate);
  const refused = await post(body);
  expect([refused.status, refused.body.error]).toEqual([429, 'too_busy']);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect(await metrics.metrics()).toContain(`tailrace_gateway_in_flight_bytes ${2 * body.length}`);
  release();
  for (const answered of await Promise.all(held)) expect(answered.status).toBe(200);
  expect((await post(body)).status).toBe(200);
  expect(await metrics.metrics()).toContain('tailrace_gateway_in_flight_bytes 0');
});

test('429 when the producer is full', async () => {
  const { post, publisher } = postingGateway();
  publisher.maxInFlightBytes = 1000;
  publisher.inFlightBytes = 999;
  expect(await post(good)).toMatchObject({ status: 429, body: { error: 'too_busy' } });
  publisher.inFlightBytes = 0;
  expect((await post(`${good}\n`.repeat(100))).status).toBe(200);
});

test.each(['kafka_unavailable', 'stopping'] as const)('503 with Retry-After while %s, and nothing is kept', async (code) => {
  const { post, parts, publisher } = postingGateway();
  parts.closed = code;
  const { status, headers, body } = await post(good);
  expect([status, body.error, publisher.publishCalls]).toEqual([503, code, 0]);
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
});

test('503 when the deadline passes: accepted, rejected, withdrawn and unknown add up', async () => {
  const { post, publisher, metrics } = postingGateway();
  const kinds = ['acknowledged', 'withdrawn', 'unknown', 'unknown', 'refused'] as const;
  publisher.fateOf = ({ key }) => ({ kind: kinds[Number(key)] ?? 'unknown', reason: 'because' });
  const lines = kinds.map((_, i) => event({ customer_id: String(i) }));
  const { status, headers, body } = await post([...lines, '{}'].join('\n'));
  expect(status).toBe(503);
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  expect(body).toEqual({
    error: 'deadline_passed',
    message: ANSWERS.deadline_passed.message,
    accepted: 1,
    withdrawn: 1,
    unknown: 2,
    rejected: 2,
    errors: [
      { line: 5, field: null, reason: 'was refused by Kafka: because' },
      { line: 6, field: 'timestamp', reason: 'is required' },
    ],
  });
  expect(await metrics.metrics()).toContain('tailrace_gateway_events_total{outcome="unknown"} 2');
});

test('a record that Kafka refuses is its line’s error, the others are kept', async () => {
  const { post, publisher } = postingGateway();
  publisher.fateOf = ({ key }) => (key === null ? { kind: 'refused', reason: 'too large' } : { kind: 'acknowledged' });
  expect(await post(`${event()}\n${good}`)).toMatchObject({
    status: 207,
    body: { accepted: 1, rejected: 1, errors: [{ line: 1, field: null, reason: 'was refused by Kafka: too large' }] },
  });
  expect(await post(event())).toMatchObject({ status: 400, body: { error: 'no_valid_event' } });
});

test.each([
  ['rejects', () => Promise.reject(new Error('a bug'))],
  ['tells too few fates', () => Promise.resolve([])],
])('a publisher that %s is 503 and logged, never 500 and never a success', async (_, publish) => {
  const { post, publisher, logged } = postingGateway();
  publisher.publish = publish;
  expect(await post(good)).toMatchObject({ status: 503, body: { error: 'internal_fault' } });
  expect(logged).toHaveLength(1);
});
