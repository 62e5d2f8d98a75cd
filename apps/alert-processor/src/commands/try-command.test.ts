import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startMailServer } from '../notify/testing/mail-server.ts';
import { receive } from '../notify/testing/receiver.ts';
import { webhookSchema } from '../notify/webhook-schema.ts';
import { alertingCommand } from './program.ts';

const SECRET = 'hush-9f3c2b71';
const NOW_MS = Date.UTC(2026, 0, 1);

let folder: string;
/** What was printed up to now. */
let shown = '';
beforeEach(() => {
  shown = '';
  folder = mkdtempSync(join(tmpdir(), 'alerts-try-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

async function tried(
  notifiers: readonly string[],
  ...more: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly told: string }> {
  const file = join(folder, 'notifiers.yaml');
  writeFileSync(file, `notifiers:\n${notifiers.map((each) => `  - {${each}}\n`).join('')}`);
  let out = '';
  let told = '';
  const code = await alertingCommand(['alerts', 'try', '--notifiers', file, ...more], {
    out: (text) => {
      out += text;
      shown += text;
    },
    note: (text) => {
      told += text;
    },
    nowMs: () => NOW_MS,
    environment: { A_SECRET: SECRET },
    signal: new AbortController().signal,
  });
  return { code, out, told };
}

it('each notifier is sent a test that fires and is over, marked as one', async () => {
  await using receiver = await receive((response) => response.writeHead(202).end());
  await using mail = await startMailServer();
  const { code, out } = await tried([
    `name: oncall, kind: webhook, url: "${receiver.url}", secret: {env: A_SECRET}, allow_private: true`,
    `name: mail, kind: email, host: 127.0.0.1, port: ${mail.port}, tls: none, from: a@b.example, to: [c@d.example], allow_private: true`,
  ]);
  expect(out).toBe(`oncall: firing was taken
oncall: resolved was taken
mail: firing was taken
mail: resolved was taken
2 notifiers tried: the test was taken everywhere.
`);
  expect(code).toBe(0);
  const bodies = receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  const fits = new Ajv({ formats: { 'date-time': true }, allowUnionTypes: true }).compile(webhookSchema());
  for (const body of bodies) expect(fits(body), JSON.stringify(fits.errors)).toBe(true);
  expect(bodies).toMatchObject(
    ['firing', 'resolved'].map((status) => ({ status, rule: 'tailrace.try', severity: 'info', summary: 'A test: nothing is wrong.' })),
  );
  // One incident, so that a pager closes what it opened.
  expect(new Set(bodies.map(({ incident }) => incident)).size).toBe(1);
  expect(receiver.received[0]?.headers['x-tailrace-signature']).toMatch(/^sha256=/);
  expect(mail.mails.map(({ headers }) => headers.find((line) => line.startsWith('Subject: ')))).toEqual([
    'Subject: FIRING info: A test: nothing is wrong.',
    'Subject: RESOLVED: A test: nothing is wrong.',
  ]);
});

it('what one receiver made of it is shown while another one has not answered yet', async () => {
  await using quick = await receive((response) => response.end());
  await using slow = await receive(async (response) => {
    await expect.poll(() => shown).toContain('quick: resolved was taken\n');
    response.end();
  });
  const of = (name: string, url: URL) => `name: ${name}, kind: webhook, url: "${url}", allow_private: true`;
  const { out } = await tried([of('slow', slow.url), of('quick', quick.url)]);
  expect(out).toMatch(/^quick: firing was taken\nquick: resolved was taken\nslow: firing was taken\nslow: resolved was taken\n2 notifiers/);
});

it('says what a receiver answered that did not take it, without secrets; exit code 1', async () => {
  await using refusing = await receive((response, { headers }) => response.writeHead(400).end(`no ${headers.authorization}`));
  await using busy = await receive((response) => response.writeHead(503).end('later'));
  await using good = await receive((response) => response.end());
  const notifiers = [
    `name: a, kind: webhook, url: "${refusing.url}", authorization: {env: A_SECRET}, allow_private: true`,
    `name: b, kind: slack, url: "${busy.url}", allow_private: true`,
    `name: c, kind: webhook, url: "${good.url}", allow_private: true`,
    `name: d, kind: webhook, url: "http://localhost:${good.url.port}/"`,
  ];
  const { code, out } = await tried(notifiers);
  // In the order in which they answer.
  expect(out.trimEnd().split('\n').sort()).toEqual([
    '4 notifiers tried: 3 did not take the test.',
    'a: firing was refused: answered 400: no (secret)',
    'b: firing was not taken (it would be tried again): answered 503: later',
    'c: firing was taken',
    'c: resolved was taken',
    expect.stringMatching(/^d: firing was not taken .*: localhost is at \S+, a private, /),
  ]);
  expect(out).toMatch(/ did not take the test\.\n$/);
  expect(code).toBe(1);
  expect(out).not.toContain(SECRET);
  expect([refusing.received.length, good.received.length]).toEqual([1, 2]);

  const named = await tried(notifiers, '--name', 'c', '--name', 'a', '--json');
  expect(JSON.parse(named.out)).toMatchObject({
    failed: 1,
    notifiers: [
      { name: 'a', outcomes: [{ status: 'firing', kind: 'refused', reason: expect.stringContaining('400') }] },
      {
        name: 'c',
        outcomes: [
          { status: 'firing', kind: 'sent' },
          { status: 'resolved', kind: 'sent' },
        ],
      },
    ],
  });
});

it.each([
  [
    ['name: oncall, kind: webhook, url: "https://oncall.example.com/"'],
    ['--name', 'oncal'],
    /There is no notifier oncal \(did you mean oncall\?\): the file has oncall\.\n/,
  ],
  [['name: oncall, kind: webhok, url: "https://oncall.example.com/"'], [], /notifiers\.yaml:2:26: This must be one of webhook, .*\n$/],
])('what can not be tried is wrong use, and nothing is sent: %j', async (notifiers, more, told) => {
  expect(await tried(notifiers, ...more)).toEqual({ code: 2, out: '', told: expect.stringMatching(told) });
});
