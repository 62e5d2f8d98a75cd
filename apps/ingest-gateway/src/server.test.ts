import { expect, test } from 'vitest';
import { ANSWERS, type AnswerBody } from './answers.ts';
import { event, postingGateway, TOPIC } from './testing/gateway.ts';

const good = event({ customer_id: 'c1' });
const noService = '{"timestamp":"2026-01-31T23:59:59Z"}';

test('NDJSON: every line becomes a record with its own bytes, the customer as key and the headers of a service event', async () => {
  const { post, publisher } = postingGateway();
  const odd = `{ "service" : "a",\t"timestamp":"2026-01-31T23:59:59Z", "customer_id":"\\u00e9", "n": 1.0e2 }`;
  expect(await post(`${good}\r\n\n${odd}`)).toMatchObject({ status: 200, body: { accepted: 2 } });
  expect(publisher.published).toEqual([
    {
      topic: TOPIC,
      key: Buffer.from('c1'),
      value: Buffer.from(good),
      headers: [
        ['event.type', Buffer.from('service-event')],
        ['event.version', Buffer.from('1.0')],
      ],
    },
    expect.objectContaining({ key: Buffer.from('é'), value: Buffer.from(odd) }),
  ]);
});

test('an event whose customer is absent or null has no key', async () => {
  const { post, publisher, metrics } = postingGateway();
  await post(`${event()}\n${event({ customer_id: null })}\n${good}`);
  expect(publisher.published.map(({ key }) => key?.toString() ?? null)).toEqual([null, null, 'c1']);
  expect(await metrics.metrics()).toContain('tailrace_gateway_events_without_key_total 2');
});

test('where customer_id is required, an event without it is refused', async () => {
  const { post } = postingGateway({ GATEWAY_REQUIRE_CUSTOMER_ID: '1' });
  expect((await post(`${event()}\n${good}`)).body).toMatchObject({ accepted: 1, errors: [{ line: 1, field: 'customer_id' }] });
});

test.each([
  ['application/x-ndjson'],
  ['application/x-ndjson; charset=utf-8'],
  ['text/plain'],
  ['application/x-www-form-urlencoded'],
  ['application/octet-stream'],
  ['multipart/form-data'],
  ['nonsense'],
  ['a/b/c;;;'],
  [undefined],
])('the type %s means one event per line', async (type) => {
  const { post, values } = postingGateway();
  expect((await post(`${good}\n${good}\n`, type === undefined ? {} : { 'content-type': type })).status).toBe(200);
  expect(values()).toEqual([good, good]);
});

test.each(['application/json', 'APPLICATION/JSON; charset=UTF-8', 'application/cloudevents+json'])(
  'the type %s is one JSON value',
  async (type) => {
    const { post, values } = postingGateway();
    const spread = good.replaceAll(',', ',\n  ');
    expect((await post(`\n[ ${spread} ,\n${good}\n]\n`, { 'content-type': type })).body).toEqual({ accepted: 2 });
    expect((await post(` ${spread}\n`, { 'content-type': type })).body).toEqual({ accepted: 1 });
    expect(values()).toEqual([spread, good, spread]);
  },
);

test('207: the bad lines are named by line, field and reason, and the good ones go through', async () => {
  const { post, values, metrics } = postingGateway();
  const bad = ['{"a":', '[]', '7', '', noService, event({ latency_ms: -1 })];
  const { status, body } = await post([good, ...bad, good].join('\n'));
  expect(status).toBe(207);
  expect(body).toEqual({
    accepted: 2,
    rejected: 5,
    errors: [
      { line: 2, field: null, reason: 'is not valid JSON' },
      { line: 3, field: null, reason: 'must be a JSON object' },
      { line: 4, field: null, reason: 'must be a JSON object' },
      { line: 6, field: 'service', reason: 'is required' },
      { line: 7, field: 'latency_ms', reason: 'must be at least 0' },
    ],
  });
  expect(values()).toEqual([good, good]);
  const text = await metrics.metrics();
  expect(text).toContain('tailrace_gateway_events_total{outcome="accepted"} 2');
  expect(text).toContain('tailrace_gateway_events_total{outcome="rejected"} 5');
  expect(text).toContain('tailrace_gateway_rejected_events_total{reason="service"} 1');
  expect(text).toContain('tailrace_gateway_requests_total{answer="partly_accepted",status="207"} 1');
});

test('207: one bad element of an array costs only itself', async () => {
  const { post, values } = postingGateway();
  const { status, body } = await post(`[${good}, {"n": NaN}, ${good}]`, { 'content-type': 'application/json' });
  expect([status, body.accepted, body.errors]).toEqual([207, 2, [{ line: 2, field: null, reason: 'is not valid JSON' }]]);
  expect(values()).toEqual([good, good]);
});

test('the list of errors is bounded and says how many more there are', async () => {
  const { body } = await postingGateway().post(`${good}\n${'{}\n'.repeat(250)}`);
  expect([body.accepted, body.rejected, body.errors?.length, body.errors_omitted]).toEqual([1, 250, 100, 150]);
});

test.each([
  ['no byte', ''],
  ['blank lines', '\n \r\n\t\n'],
])('400 for a body with %s', async (_, body) => {
  const { post } = postingGateway();
  expect(await post(body)).toMatchObject({ status: 400, body: { error: 'empty_body' } });
  expect(await post(body, { 'content-type': 'application/json' })).toMatchObject({ status: 400, body: { error: 'empty_body' } });
  expect(await post(body, {})).toMatchObject({ status: 400, body: { error: 'empty_body' } });
});

test('400 when no event is valid, with the list and a hint at the type', async () => {
  const { post, publisher } = postingGateway();
  const joined = await post(`${good}${good}`, { 'content-type': 'application/x-www-form-urlencoded' });
  expect(joined).toMatchObject({ status: 400, body: { error: 'no_valid_event', accepted: 0, rejected: 1 } });
  expect(joined.body.message).toContain('--data-binary');
  expect((await post(`[${good}]`)).body.message).toContain('application/json');
  expect((await post(`${good}\n${good}`, { 'content-type': 'application/json' })).body.message).toContain('application/x-ndjson');
  expect((await post(noService)).body.message).toBe(ANSWERS.no_valid_event.message);
  expect(publisher.published).toEqual([]);
});

test.each(['[', '[]x', `[${good}`, `[${good},]`, `[,${good}]`, `[${good}] [${good}]`, `[${good}}`, '["', '[1}'])(
  '400 for the broken array %s',
  async (body) => {
    const { post, publisher } = postingGateway();
    expect(await post(body, { 'content-type': 'application/json' })).toMatchObject({ status: 400, body: { error: 'invalid_json' } });
    expect(publisher.published).toEqual([]);
  },
);

test('an empty array has no event', async () => {
  expect(await postingGateway().post('[ ]', { 'content-type': 'application/json' })).toMatchObject({
    status: 400,
    body: { error: 'empty_body' },
  });
});

test('a byte order mark is not part of the first event', async () => {
  const { post, values } = postingGateway();
  expect((await post(`\ufeff${good}\n${good}`)).body).toEqual({ accepted: 2 });
  expect((await post(`\ufeff[${good}]`, { 'content-type': 'application/json' })).body).toEqual({ accepted: 1 });
  expect(values()).toEqual([good, good, good]);
});

test.each([
  ['GET', '/v1/events', 405, 'method_not_allowed', 'POST'],
  ['DELETE', '/v1/events/', 405, 'method_not_allowed', 'POST'],
  ['POST', '/livez', 405, 'method_not_allowed', 'GET, HEAD'],
  ['GET', '/', 404, 'not_found', undefined],
  ['POST', '/v2/events?x=/v1/events', 404, 'not_found', undefined],
  ['GET', '/toString', 404, 'not_found', undefined],
  ['GET', '/%', 400, 'bad_request', undefined],
] as const)('%s %s is %i', async (method, url, status, error, allow) => {
  const { app } = postingGateway();
  const answered = await app.inject({ method, url, ...(method === 'POST' ? { payload: good } : {}) });
  expect([answered.statusCode, answered.json<AnswerBody>().error, answered.headers.allow]).toEqual([status, error, allow]);
});

test('the probes are served on the same port, for GET and HEAD', async () => {
  const { app, health } = postingGateway();
  health.set('kafka', () => ({ state: 'not-ready', sentence: 'Kafka does not answer.' }));
  expect((await app.inject({ url: '/livez' })).statusCode).toBe(200);
  expect((await app.inject({ url: '/readyz' })).json()).toMatchObject({ state: 'not-ready', checks: [{ name: 'kafka' }] });
  expect((await app.inject({ method: 'HEAD', url: '/readyz' })).statusCode).toBe(503);
  expect((await app.inject({ url: '/metrics' })).body).toContain('tailrace_gateway_requests_total{answer="accepted",status="200"} 0');
});
