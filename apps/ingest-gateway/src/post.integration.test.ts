import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { generateEvents, partitionForKey } from '@tailrace/events';
import { connectPublisher, type Publisher } from '@tailrace/kafka-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AnswerBody } from './answers.ts';
import { CURL_EXAMPLES, EXAMPLE_URL } from './http-page.ts';
import { type Gateway, startGateway } from './server.ts';
import { event, gatewayParts } from './testing/gateway.ts';
import { makeTopic, readTopic, testCluster, withAdmin } from './testing/kafka.ts';

const settings = testCluster();
let publisher: Publisher;
let topic: string;
let smallTopic: string;
let gateway: Gateway;
let smallGateway: Gateway;

beforeAll(async () => {
  [topic, smallTopic] = await withAdmin(settings, async (admin) => [
    await makeTopic(admin),
    await makeTopic(admin, { 'max.message.bytes': '20000' }),
  ]);
  publisher = await connectPublisher(settings, { producers: 2, maxInFlightBytes: 64 * 1024 * 1024, log: () => undefined });
  gateway = await startGateway({ ...gatewayParts().options, topic, publisher });
  smallGateway = await startGateway({ ...gatewayParts().options, topic: smallTopic, publisher });
});

afterAll(async () => {
  await gateway.stop(5_000);
  await smallGateway.stop(5_000);
  await publisher.close(5_000);
  await withAdmin(settings, (admin) => admin.deleteTopics([topic, smallTopic]));
});

const post = async (to: Gateway, body: string | Buffer, headers: Record<string, string>) => {
  const answered = await fetch(`${to.url}/v1/events`, { method: 'POST', body, headers });
  return { status: answered.status, body: (await answered.json()) as AnswerBody };
};

/** Runs a client that is a program of its own, with the body on its standard input, and gives what it prints. */
async function runClient(command: string, args: readonly string[], body: string | Buffer): Promise<string> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(body);
  const [printed] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return printed;
}

const has = (command: string) => spawnSync(command, ['--version']).status === 0;

/** Events whose text is not what JSON.stringify would make of them, marked so that a test finds its own again. */
function oddEvents(mark: string, count: number): string[] {
  const source = generateEvents({ seed: 7, nowMs: () => Date.parse('2026-01-31T12:00:00Z') });
  return Array.from({ length: count }, (_, i) => {
    const { customer_id, ...rest } = source.next().value;
    return `{ "customer_id" : ${JSON.stringify(customer_id)}, "mark":"${mark}", "n": ${i}, "big": 12345678901234567890, "f":1.0e+2, ${JSON.stringify(rest).slice(1)}`;
  });
}

async function valuesIn(of: string, mark: string): Promise<string[]> {
  const values = (await readTopic(settings, of)).map(({ value }) => value?.toString() ?? '');
  return values.filter((value) => value.replace('"mark": ', '"mark":').includes(`"mark":"${mark}"`));
}

test('what was accepted is in Kafka byte for byte, keyed by customer, in order per key, with its headers', async () => {
  const lines = oddEvents('bytes', 5_000);
  for (let at = 0; at < lines.length; at += 1_000) {
    const answered = await post(gateway, gzipSync(lines.slice(at, at + 1_000).join('\r\n')), { 'content-encoding': 'gzip' });
    expect(answered).toEqual({ status: 200, body: { accepted: 1_000 } });
  }
  const records = (await readTopic(settings, topic)).filter(({ value }) => value?.includes('"mark":"bytes"'));
  const values = records.map(({ value }) => value?.toString() ?? '');
  expect(values.toSorted()).toEqual(lines.toSorted());
  const lastByKey = new Map<string, number>();
  for (const { key, value, headers, partition } of records) {
    const parsed = JSON.parse(value?.toString() ?? '');
    expect(key?.toString()).toBe(parsed.customer_id);
    expect(partition).toBe(partitionForKey(Buffer.from(parsed.customer_id), 12));
    expect(headers.map(([name, header]) => [name, header?.toString()])).toEqual([
      ['event.type', 'service-event'],
      ['event.version', '1.0'],
    ]);
    expect(parsed.n).toBeGreaterThan(lastByKey.get(parsed.customer_id) ?? -1);
    lastByKey.set(parsed.customer_id, parsed.n);
  }
});

test.skipIf(!has('curl'))('curl: its default type, gzip through a pipe, an array, and a file with bad lines', async () => {
  const lines = oddEvents('curl', 30);
  const url = `${gateway.url}/v1/events`;
  const args = ['-sS', '-w', ' %{http_code}', '--data-binary', '@-'];
  expect(await runClient('curl', [...args, url], lines.slice(0, 10).join('\n'))).toBe('{"accepted":10}\n 200');
  expect(await runClient('curl', [...args, '-H', 'content-encoding: gzip', url], gzipSync(lines.slice(10, 20).join('\n')))).toBe(
    '{"accepted":10}\n 200',
  );
  const array = `[\n  ${lines.slice(20).join(' ,\n  ')}\n]`;
  expect(await runClient('curl', [...args, '-H', 'content-type: application/json', url], array)).toBe('{"accepted":10}\n 200');
  expect(await runClient('curl', [...args, url], `${event()}\nbad`)).toMatch(/"accepted":1,"rejected":1,.*"line":2.* 207$/s);
  expect((await valuesIn(topic, 'curl')).toSorted()).toEqual(lines.toSorted());
});

test.skipIf(!has('python3'))('Python: urllib with gzip, and one without any type', async () => {
  const lines = oddEvents('python', 20);
  const program = `
import gzip, sys, urllib.request
lines = sys.stdin.buffer.read().split(b'\\n')
for body, headers in ((gzip.compress(b'\\n'.join(lines[:10])), {'Content-Encoding': 'gzip'}), (b'\\n'.join(lines[10:]), {})):
    request = urllib.request.Request('${gateway.url}/v1/events', data=body, headers=headers, method='POST')
    with urllib.request.urlopen(request) as answer:
        print(answer.status, answer.read().decode().strip())
`;
  expect(await runClient('python3', ['-c', program], lines.join('\n'))).toBe('200 {"accepted":10}\n200 {"accepted":10}\n');
  expect((await valuesIn(topic, 'python')).toSorted()).toEqual(lines.toSorted());
});

/** Documents over several lines, as people keep them in files. */
const indented = (lines: readonly string[]) =>
  JSON.stringify(
    lines.map((line) => JSON.parse(line)),
    null,
    2,
  );

test.skipIf(!has('curl'))(
  'curl without a type: an array and an object, on one line and indented; -d; packed without its header',
  async () => {
    const lines = oddEvents('curl-json', 12).map((line) => line.replace('12345678901234567890', '1'));
    const url = `${gateway.url}/v1/events`;
    const args = ['-sS', '-w', ' %{http_code}', url];
    const binary = [...args, '--data-binary', '@-'];
    expect(await runClient('curl', binary, `[${lines.slice(0, 3)}]`)).toBe('{"accepted":3}\n 200');
    expect(await runClient('curl', binary, indented(lines.slice(3, 6)))).toBe('{"accepted":3}\n 200');
    expect(await runClient('curl', [...args, '-d', '@-'], indented(lines.slice(6, 9)))).toBe('{"accepted":3}\n 200');
    expect(await runClient('curl', binary, indented(lines.slice(9, 10)).slice(1, -1))).toBe('{"accepted":1}\n 200');
    expect(await runClient('curl', [...binary, '-H', 'content-type:'], indented(lines.slice(10)))).toBe('{"accepted":2}\n 200');
    expect(await runClient('curl', binary, indented(lines).slice(0, -20))).toMatch(/"error":"invalid_json".* 400$/s);
    expect(await runClient('curl', binary, gzipSync(lines.join('\n')))).toMatch(/"undeclared_encoding".*content-encoding: gzip.* 415$/s);
    expect(await runClient('curl', [...binary, '-H', 'expect: tea'], lines[0] ?? '')).toMatch(/"error":"expectation_failed".* 417$/s);
    expect(await valuesIn(topic, 'curl-json')).toHaveLength(12);
  },
);

test.skipIf(!has('curl'))('every command of the page on the HTTP API does what it says', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-page-'));
  const lines = oddEvents('page', 3);
  writeFileSync(join(folder, 'events.ndjson'), `${lines.join('\n')}\n`);
  writeFileSync(join(folder, 'events.json'), indented(lines));
  for (const { command } of CURL_EXAMPLES) {
    const printed = await runClient('sh', ['-c', `cd ${folder} && ${command.replace(EXAMPLE_URL, gateway.url)}`], '');
    expect(printed, command).toBe('{"accepted":3}\n');
  }
  rmSync(folder, { recursive: true });
});

test.skipIf(!has('python3'))('Python: requests and urllib with JSON and no word about it', async () => {
  const body = indented(oddEvents('python-json', 4));
  const program = `
import sys, urllib.request
body = sys.stdin.buffer.read()
request = urllib.request.Request('${gateway.url}/v1/events', data=body, method='POST')
with urllib.request.urlopen(request) as answer:
    print(answer.status, answer.read().decode().strip())
try:
    import requests
except ImportError:
    pass # Not everyone has it; then urllib alone is looked at.
else:
    answer = requests.post('${gateway.url}/v1/events', data=body)
    print(answer.status_code, answer.text.strip())
`;
  expect(await runClient('python3', ['-c', program], body)).toMatch(/^(200 {"accepted":4}\n){1,2}$/);
});

test('fetch: a string has the type text/plain, and may be JSON all the same', async () => {
  expect(await post(gateway, indented(oddEvents('fetch-json', 3)), {})).toEqual({ status: 200, body: { accepted: 3 } });
});

test('many clients at once: nothing is lost and nothing is doubled', async () => {
  const lines = oddEvents('many', 8_000);
  const posts = Array.from({ length: 400 }, (_, i) => post(gateway, lines.slice(i * 20, (i + 1) * 20).join('\n'), {}));
  for (const answered of await Promise.all(posts)) expect(answered).toEqual({ status: 200, body: { accepted: 20 } });
  expect((await valuesIn(topic, 'many')).toSorted()).toEqual(lines.toSorted());
});

test('a record that the broker refuses is its line’s error, and the good ones beside it go through', async () => {
  // Large, and of random digits: the broker looks at the compressed size.
  const digits = Array.from({ length: 60_000 }, () => Math.floor(Math.random() * 36).toString(36)).join('');
  const large = event({ customer_id: 'c1', message: digits });
  // Of other partitions: the broker judges a whole batch.
  const ofLarge = partitionForKey(Buffer.from('c1'), 12);
  const customers = Array.from({ length: 100 }, (_, n) => `d${n}`).filter((name) => partitionForKey(Buffer.from(name), 12) !== ofLarge);
  const lines = customers.slice(0, 20).map((customer_id, n) => event({ customer_id, mark: 'refused', n }));
  const { status, body } = await post(smallGateway, [...lines.slice(0, 10), large, ...lines.slice(10)].join('\n'), {});
  expect([status, body.accepted, body.rejected]).toEqual([207, 20, 1]);
  expect(body.errors).toEqual([{ line: 11, field: null, reason: expect.stringMatching(/^was refused by Kafka: .*large/i) }]);
  expect((await valuesIn(smallTopic, 'refused')).toSorted()).toEqual(lines.toSorted());
});
