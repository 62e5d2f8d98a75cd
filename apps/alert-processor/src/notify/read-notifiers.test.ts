import { systemClock } from '@tailrace/kafka-kit';
import { describe, expect, test } from 'vitest';
import { problemLine } from '../rules/reading.ts';
import type { Lookup } from './address-guard.ts';
import type { Notifier } from './notifier.ts';
import { KIND_NAMES } from './notifier-kinds.ts';
import { type NotifiersOptions, readNotifiers } from './read-notifiers.ts';
import { startMailServer } from './testing/mail-server.ts';
import { notification } from './testing/notifications.ts';
import { type Received, receive } from './testing/receiver.ts';

const SECRET = 'hush-9f3c2b71';
const FILES: Readonly<Record<string, string>> = {
  '/run/secrets/key': `${SECRET}\n`,
  '/run/secrets/empty': '\n',
  '/run/secrets/two': 'a\nb\n',
};
const never = (): AbortSignal => new AbortController().signal;

function options(changes: Partial<NotifiersOptions> = {}): NotifiersOptions {
  return {
    file: 'notifiers.yaml',
    clock: systemClock,
    environment: { A_SECRET: SECRET, EMPTY: '' },
    readFile: (path) => {
      const text = FILES[path];
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return text;
    },
    ...changes,
  };
}

function problemsOf(text: string): readonly string[] {
  const read = readNotifiers(text, options());
  return 'problems' in read ? read.problems.map(problemLine) : [];
}

function notifiersOf(text: string, changes: Partial<NotifiersOptions> = {}): readonly Notifier[] {
  const read = readNotifiers(text, options(changes));
  if ('problems' in read) throw new Error(read.problems.map(problemLine).join('\n'));
  return read.notifiers;
}

const EACH = {
  webhook: '{name: n, kind: webhook, url: "URL", secret: {env: A_SECRET}, authorization: {file: /run/secrets/key}, allow_private: true}',
  alertmanager: '{name: n, kind: alertmanager, url: "URL", hold: 2d, allow_private: true}',
  slack: '{name: n, kind: slack, url: "URL", allow_private: true}',
  pagerduty: '{name: n, kind: pagerduty, routing_key: {env: A_SECRET}, url: "URL", allow_private: true}',
  email:
    '{name: n, kind: email, host: 127.0.0.1, port: PORT, tls: opportunistic, user: u, password: {env: A_SECRET}, from: a@b.example, to: [c@d.example], allow_private: true}',
} as const;

test.each(KIND_NAMES)('a notifier of kind %s is read and sends what its keys say', async (kind) => {
  await using receiver = await receive((response) => response.writeHead(202).end());
  await using mail = await startMailServer({
    allowInsecureAuth: true,
    onAuth: ({ password }, _session, callback) => callback(null, password === SECRET ? { user: 'u' } : {}),
  });
  const text = EACH[kind].replace('URL', new URL('/base/?x=1', receiver.url).href).replace('PORT', String(mail.port));
  const [notifier] = notifiersOf(`notifiers: [${text}]`);
  expect(await notifier?.send(notification({ decidedMs: Date.UTC(2026, 0, 1) }), never())).toEqual({ kind: 'sent' });
  const [{ path, headers, body } = { path: '', headers: {}, body: '{}' } as Pick<Received, 'path' | 'headers' | 'body'>] =
    receiver.received;
  if (kind === 'webhook') {
    expect([path, headers.authorization, headers['x-tailrace-signature']]).toEqual([
      '/base/?x=1',
      SECRET,
      expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
    ]);
  } else if (kind === 'alertmanager') {
    expect([path, JSON.parse(body)[0].endsAt]).toEqual(['/base/api/v2/alerts?x=1', '2026-01-03T00:00:00.000Z']);
  } else if (kind === 'slack') {
    expect([path, JSON.parse(body).text]).toEqual(['/base/?x=1', 'FIRING critical: shop answers with errors']);
  } else if (kind === 'pagerduty') {
    expect([path, JSON.parse(body).routing_key]).toEqual(['/base/?x=1', SECRET]);
  } else {
    expect(mail.mails).toMatchObject([{ from: 'a@b.example', to: ['c@d.example'], user: 'u' }]);
  }
});

describe('problems', () => {
  test('all at once, with their places and what would fit', () => {
    const text = `notifiers:
  - {name: oncall, kind: webhook, url: "http://10.0.0.1/", secrit: {env: A_SECRET}}
  - {name: oncall, kind: slck, url: "https://hooks.example.com/x"}
  - name: Mail
    kind: email
    host: "mail example"
    to: [a@b.example, "A <a@b.example>"]
    from: "a@b.example\\r\\nBcc: x@y.example"
    tls: ssl
    port: 0
  - {name: other, url: "https://hooks.example.com/x"}
  - 7
`;
    expect(problemsOf(text)).toEqual([
      expect.stringMatching(/^notifiers\.yaml:2:60: There is no key "secrit" in a notifier of kind webhook \(did you mean secret\?\)/),
      expect.stringMatching(
        /^notifiers\.yaml:3:26: This must be one of webhook, alertmanager, slack, pagerduty, email \(did you mean slack\?\)/,
      ),
      expect.stringMatching(/^notifiers\.yaml:4:11: This must be a name of at most 64 small letters/),
      expect.stringMatching(/^notifiers\.yaml:6:12: This must be the name or address of a server/),
      'notifiers.yaml:7:24: This must be one e-mail address without a name, like oncall@example.com.',
      'notifiers.yaml:8:11: This must be one e-mail address without a name, like oncall@example.com.',
      expect.stringMatching(/^notifiers\.yaml:9:10: This must be one of starttls, implicit, opportunistic, none/),
      expect.stringMatching(/^notifiers\.yaml:10:11: This must be a whole number from 1 to 65535/),
      'notifiers.yaml:11:5: The key kind is missing: it is one of webhook, alertmanager, slack, pagerduty, email.',
      'notifiers.yaml:12:5: The key kind is missing: it is one of webhook, alertmanager, slack, pagerduty, email.',
    ]);
  });

  test.each([
    [
      'url: "http://10.0.0.1/"',
      'The URL is refused: 10.0.0.1 is a private, loopback or reserved address: set allow_private to true where that is meant.',
    ],
    ['url: "http://0x7f.1/"', 'The URL is refused: 127.0.0.1 is a private'],
    ['url: "ftp://a.example/"', 'The URL begins with ftp:, which is neither https: nor http:.'],
    [`url: "https://u:${SECRET}@a.example/"`, 'The URL has a user or password in it: take them out.'],
    ['url: {env: NOT_SET}', 'Set the environment variable NOT_SET: it is not set, or empty.'],
    ['url: {env: EMPTY}', 'Set the environment variable EMPTY: it is not set, or empty.'],
    ['url: {file: /run/secrets/none}', 'A secret must stand in the file /run/secrets/none, which can not be read (ENOENT).'],
    ['url: {file: /run/secrets/empty}', 'A secret must stand in the file /run/secrets/empty: it is empty.'],
    ['url: {file: /run/secrets/two}', 'What the file /run/secrets/two holds is no secret: it has several lines'],
    ['url: {env: A_SECRET}', 'The URL is no URL.'],
    [`url: "https://a.example/", secret: ${SECRET}`, 'A secret does not stand in this file: this must be a map'],
    [`url: "https://a.example/", secret: {env: "${SECRET}"}`, 'A secret does not stand in this file: this must be a map'],
    [`url: "https://a.example/", secret: {env: A_SECRET, file: "${SECRET}"}`, 'A secret does not stand in this file: this must be a map'],
    ['url: "https://a.example/", allow_private: "yes"', 'This must be true or false.'],
  ])('%s', (keys, sentence) => {
    const problems = problemsOf(`notifiers: [{name: n, kind: webhook, ${keys}}]`);
    expect(problems).toEqual([expect.stringContaining(sentence)]);
    expect(problems.join()).not.toContain(SECRET);
  });

  test.each([
    ['"smtp.example.com:587"', 'host: "smtp.example.com" and port: 587.'],
    ['10.0.0.1:25', 'host: "10.0.0.1" and port: 25.'],
    ['"[2001:db8::1]:587"', 'host: "2001:db8::1" and port: 587.'],
    ['smtp://mail.example.com', 'This must be the name or address of a server, like mail.example.com.'],
    ['"2001:4860:4860::8888"', undefined],
    ['mail.example.com', undefined],
  ])('the host %s', (host, sentence) => {
    const found = problemsOf(`notifiers: [{name: n, kind: email, host: ${host}, from: a@b.example, to: [c@d.example]}]`);
    expect(found).toEqual(sentence === undefined ? [] : [expect.stringContaining(sentence)]);
  });

  test.each([
    ['user: u', 'A login has both user and password.'],
    ['user: u, password: {env: A_SECRET}, tls: none', 'A password does not travel in the open: use starttls or implicit.'],
  ])('of a mail with %s', (keys, sentence) => {
    expect(
      problemsOf(`notifiers: [{name: n, kind: email, host: mail.example.com, from: a@b.example, to: [c@d.example], ${keys}}]`),
    ).toEqual([expect.stringContaining(sentence)]);
  });

  test('the same name twice, an empty file, no YAML', () => {
    const one = '{name: n, kind: webhook, url: "https://a.example/"}';
    expect(problemsOf(`notifiers:\n- ${one}\n- ${one}\n`)).toEqual([
      'notifiers.yaml:3:10: There is another notifier named n: names are unique.',
    ]);
    expect(problemsOf('')).toEqual(['notifiers.yaml:1:1: The file is empty: it has at least notifiers: [].']);
    expect(problemsOf('notifiers: [')).toEqual([expect.stringContaining('is not closed')]);
    expect(problemsOf('notifiers: []')).toEqual([]);
  });
});

test('no reason shows a secret, whoever repeats it', async () => {
  await using receiver = await receive((response, { headers, path, body }) =>
    response.writeHead(400).end(`${headers.authorization} ${path} ${body}`),
  );
  const environment = { A_SECRET: SECRET, HOOK: new URL('/services/T0/B0/xoxb', receiver.url).href };
  const all = [
    '{name: a, kind: webhook, url: {env: HOOK}, authorization: {env: A_SECRET}, allow_private: true}',
    '{name: b, kind: pagerduty, url: {env: HOOK}, routing_key: {env: A_SECRET}, allow_private: true}',
  ];
  for (const notifier of notifiersOf(`notifiers: [${all.join(',')}]`, { environment })) {
    const outcome = await notifier.send(notification(), never());
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('(secret)') });
    expect(JSON.stringify(outcome)).not.toMatch(/hush|xoxb/);
  }
});

test('a name that leads to a private address is not connected to, in any kind', async () => {
  await using receiver = await receive((response) => response.end());
  const lookup: Lookup = (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
  const { port } = receiver.url;
  for (const kind of KIND_NAMES) {
    const text = EACH[kind].replace('URL', `http://a.example:${port}/`).replace('PORT', port).replace('127.0.0.1', 'a.example');
    const [notifier] = notifiersOf(`notifiers: [${text.replace('allow_private: true', 'allow_private: false')}]`, { lookup });
    expect(await notifier?.send(notification(), never()), kind).toMatchObject({
      kind: 'retry',
      reason: expect.stringContaining('a.example is at 127.0.0.1'),
    });
  }
  expect(receiver.received).toEqual([]);
});
