import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@tailrace/kafka-kit';
import { Ajv } from 'ajv';
import { expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { updateDocs } from '../config.ts';
import { HttpNotifier } from './http-notifier.ts';
import { COMMON_KEYS, KIND_NAMES, NOTIFIER_KINDS, type NotifierKind } from './notifier-kinds.ts';
import { NOTIFIERS_EXAMPLE, NOTIFIERS_SCHEMA_FILE, notifiersPage, notifiersSchemaText, RECEIVER_EXAMPLE } from './notifiers-page.ts';
import { notifiersSchema, readNotifiers } from './read-notifiers.ts';
import { notification } from './testing/notifications.ts';
import { receive } from './testing/receiver.ts';
import { webhookBody, webhookMessage } from './webhook.ts';
import { WEBHOOK_SCHEMA_FILE, webhookSchema } from './webhook-schema.ts';

const at = (path: string) => new URL(`../../../../${path}`, import.meta.url);
const ajv = new Ajv({ strictTypes: false, allowUnionTypes: true, formats: { 'date-time': true, email: true } });
const fits = ajv.compile(notifiersSchema());

test.each([
  ['notifiers.md', notifiersPage],
  [NOTIFIERS_SCHEMA_FILE, notifiersSchemaText],
  [WEBHOOK_SCHEMA_FILE, () => `${JSON.stringify(webhookSchema(), undefined, 2)}\n`],
])('docs/reference/%s is what the tables say (UPDATE_DOCS=1 writes it)', (name, make) => {
  const file = at(`docs/reference/${name}`);
  if (updateDocs) writeFileSync(file, make());
  expect(readFileSync(file, 'utf8')).toBe(make());
});

function problemsOf(text: string): readonly object[] {
  const secret = 'https://hooks.example.com/secret';
  const environment = new Proxy({}, { get: () => secret });
  const read = readNotifiers(text, { file: 'f', clock: systemClock, environment, readFile: () => secret });
  return 'problems' in read ? read.problems : [];
}

test('the whole example is read, and fits the schema', () => {
  expect(problemsOf(NOTIFIERS_EXAMPLE)).toEqual([]);
  expect(fits(parse(NOTIFIERS_EXAMPLE)), JSON.stringify(fits.errors)).toBe(true);
});

test.each(KIND_NAMES)('the examples of all keys of %s are read, and fit the schema', (kind) => {
  const keys = { ...COMMON_KEYS, ...(NOTIFIER_KINDS[kind] as unknown as NotifierKind).keys };
  const lines = Object.entries(keys).map(([key, { example }]) => `    ${key}: ${key === 'kind' ? kind : example}`);
  const text = `notifiers:\n  -\n${lines.join('\n')}\n`;
  expect(problemsOf(text)).toEqual([]);
  expect(fits(parse(text)), JSON.stringify(fits.errors)).toBe(true);
});

test.each([
  'notifiers: [{name: a, kind: webhook}]',
  'notifiers: [{name: a, kind: webhook, url: "https://a.example", secret: plain}]',
  'notifiers: [{name: a, kind: pagerduty, routing_key: {env: A, file: b}}]',
  'notifiers: [{name: a, kind: nothing}]',
  'notifiers: [{name: a, kind: slack, url: {env: A}, host: b}]',
  'notifiers: 5',
])('the schema refuses what the reader refuses: %s', (text) => {
  expect(problemsOf(text)).not.toEqual([]);
  expect(fits(parse(text))).toBe(false);
});

test('what a webhook is posted fits its schema, with and without what may be absent', () => {
  const body = ajv.compile(webhookSchema());
  const { runbook: _, ...bare } = notification({ status: 'resolved', group: {}, labels: {} });
  const evidence = { ...bare.evidence, value: null, completeUpToMs: null, brokerMs: null, eventMs: null, missing: [] };
  for (const told of [notification(), { ...bare, evidence }]) expect(body(webhookBody(told)), JSON.stringify(body.errors)).toBe(true);
  for (const name of ['key', 'response', 'evidence']) expect(body({ ...webhookBody(notification()), [name]: undefined })).toBe(false);
});

test('the example of a receiver takes what is signed, once, and refuses what is forged or old', async () => {
  const child = spawn(process.execPath, [fileURLToPath(at(RECEIVER_EXAMPLE))], {
    env: { TAILRACE_WEBHOOK_SECRET: 'the secret' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const lines: string[] = [];
    const input = createInterface({ input: child.stdout });
    input.on('line', (line) => lines.push(line));
    await once(input, 'line');
    const url = new URL(lines[0] ?? '');
    const sent = (secret: string, nowMs: number) =>
      new HttpNotifier('n', { url, allowPrivate: true }, { ...systemClock, nowMs: () => nowMs }, (told, ms) =>
        webhookMessage(told, ms, secret),
      ).send(notification(), new AbortController().signal);
    expect(await sent('another secret', Date.now())).toMatchObject({ kind: 'retry', reason: 'answered 401' });
    expect(await sent('the secret', Date.now() - 600_000)).toMatchObject({ kind: 'retry', reason: 'answered 401' });
    expect(await sent('the secret', Date.now())).toEqual({ kind: 'sent' });
    expect(await sent('the secret', Date.now())).toEqual({ kind: 'sent' });
    const shown = [
      'firing critical: shop answers with errors',
      '  do: Look at the last deployment of the service.',
      '  do not: Do not restart the database.',
    ];
    await vi.waitFor(() => expect(lines.slice(1)).toEqual(shown));
  } finally {
    const gone = once(child, 'exit');
    child.kill();
    await gone;
  }
});

test('the example of a receiver says in one sentence that its port is taken', async () => {
  await using receiver = await receive(() => {});
  const child = spawn(process.execPath, [fileURLToPath(at(RECEIVER_EXAMPLE)), receiver.url.port], {
    env: { TAILRACE_WEBHOOK_SECRET: 'the secret' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  child.stderr.on('data', (chunk) => {
    told += String(chunk);
  });
  const [code] = await once(child, 'close');
  expect([code, told]).toEqual([1, expect.stringMatching(/^It can not listen \(.*EADDRINUSE.*\): name a free port\.\n$/)]);
});
