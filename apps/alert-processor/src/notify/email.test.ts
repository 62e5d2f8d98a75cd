import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Lookup } from './address-guard.ts';
import { ADDRESS, Email, type EmailOptions } from './email.ts';
import { startMailServer } from './testing/mail-server.ts';
import { notification } from './testing/notifications.ts';
import { receiveRaw } from './testing/receiver.ts';

const never = (): AbortSignal => new AbortController().signal;

function email(port: number, options: Partial<EmailOptions> = {}): Email {
  const defaults = {
    host: '127.0.0.1',
    tls: 'none',
    from: 'tailrace@example.com',
    to: ['oncall@example.com'],
    allowPrivate: true,
  } as const;
  return new Email('mail', { ...defaults, port, ...options });
}

test('a plain text that says what to do and what not, its id made from the key, folded into the incident', async () => {
  await using server = await startMailServer();
  expect(await email(server.port).send(notification(), never())).toEqual({ kind: 'sent' });
  const [mail] = server.mails;
  expect(mail).toMatchObject({ from: 'tailrace@example.com', to: ['oncall@example.com'] });
  expect(mail?.headers).toEqual(
    expect.arrayContaining([
      'From: tailrace@example.com',
      'To: oncall@example.com',
      'Subject: FIRING critical: shop answers with errors',
      'Message-ID: <errors-by-service/0123456789abcdef/1767225600000/firing@example.com>',
      'In-Reply-To: <errors-by-service/0123456789abcdef/1767225600000@example.com>',
      'Auto-Submitted: auto-generated',
      'Date: Thu, 01 Jan 2026 00:00:00 +0000',
    ]),
  );
  expect(mail?.body).toContain('Do: Look at the last deployment of the service.\r\nDo not: Do not restart the database.\r\n');
});

test('no text of an event becomes a header, a recipient or a line of SMTP', async () => {
  await using server = await startMailServer();
  const names = (headers: readonly string[] = []): readonly string[] => headers.map((line) => line.slice(0, line.indexOf(':')));
  await email(server.port).send(notification(), never());
  const evil = fc.array(
    fc.constantFrom('\r', '\n', '\r\n', '\u2028', '.', 'Bcc: a@b.example', ' ', 'RCPT TO:<x@y.example>', 'é', '\u{1F600}', 'x'.repeat(90)),
  );
  await fc.assert(
    fc.asyncProperty(evil, evil, async (summary, value) => {
      const told = notification({ summary: summary.join(''), group: { service: value.join('') } });
      expect(await email(server.port).send(told, never())).toEqual({ kind: 'sent' });
      const [mail] = server.mails.slice(-1);
      expect(mail?.to).toEqual(['oncall@example.com']);
      expect(names(mail?.headers)).toEqual(names(server.mails[0]?.headers));
    }),
    { numRuns: 25 },
  );
});

test('who has it does not get it again because another one has to wait', async () => {
  const waiting = new Set(['b@example.com']);
  await using server = await startMailServer({}, (address) => (waiting.has(address) ? 451 : address === 'c@example.com' ? 550 : undefined));
  const mail = email(server.port, { to: ['a@example.com', 'b@example.com', 'c@example.com'] });
  expect(await mail.send(notification(), never())).toMatchObject({ kind: 'retry', reason: expect.stringContaining('451') });
  waiting.clear();
  expect(await mail.send(notification(), never())).toEqual({
    kind: 'refused',
    reason: 'refused for c@example.com: 550 not now, not here: c@example.com',
  });
  expect(server.mails.map(({ to }) => to)).toEqual([['a@example.com'], ['b@example.com']]);
});

test('all refused for ever is refused; all to wait, or the whole message, is tried again', async () => {
  await using refusing = await startMailServer({}, () => 550);
  expect(await email(refusing.port).send(notification(), never())).toMatchObject({
    kind: 'refused',
    reason: expect.stringContaining('550'),
  });
  await using greylisting = await startMailServer({}, () => 451);
  expect(await email(greylisting.port).send(notification(), never())).toMatchObject({
    kind: 'retry',
    reason: expect.stringContaining('451'),
  });
  await using busy = await startMailServer({
    onMailFrom: (_from, _session, callback) => callback(Object.assign(new Error('busy'), { responseCode: 421 })),
  });
  expect(await email(busy.port).send(notification(), never())).toMatchObject({ kind: 'retry', reason: expect.stringContaining('421') });
  await using strict = await startMailServer({
    onMailFrom: (_from, _session, callback) => callback(Object.assign(new Error('no'), { responseCode: 553 })),
  });
  expect(await email(strict.port).send(notification(), never())).toMatchObject({ kind: 'refused', reason: expect.stringContaining('553') });
});

test('a login, and its refusal', async () => {
  await using server = await startMailServer({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username = '', password }, _session, callback) => callback(null, password === 'right' ? { user: username } : {}),
  });
  expect(await email(server.port, { login: { user: 'u', password: 'right' } }).send(notification(), never())).toEqual({ kind: 'sent' });
  expect(server.mails[0]?.user).toBe('u');
  const outcome = await email(server.port, { login: { user: 'u', password: 'wrong-secret' } }).send(notification(), never());
  expect(outcome, 'a wrong password says nothing of the mail').toMatchObject({ kind: 'retry', reason: expect.stringContaining('535') });
  expect(JSON.stringify(outcome)).not.toContain('wrong-secret');
});

test('with starttls nothing is sent in the open, nor to a server that can not prove its name', async () => {
  await using open = await startMailServer();
  expect(await email(open.port, { tls: 'starttls' }).send(notification(), never())).toMatchObject({ kind: 'retry' });
  // The server's own certificate is nobody's.
  await using server = await startMailServer({ disabledCommands: [] });
  expect(await email(server.port, { tls: 'starttls' }).send(notification(), never())).toMatchObject({ kind: 'retry' });
  expect([...open.mails, ...server.mails]).toEqual([]);
});

/** A key and a certificate for `localhost`, made anew; undefined where there is no openssl. */
function certificate(): { readonly key: string; readonly cert: string } | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'tailrace-mail-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  try {
    const made = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    execFileSync('openssl', ['req', ...made, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } catch {
    return undefined; // The test below says that it was skipped.
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const own = certificate();

test.skipIf(own === undefined).each(['starttls', 'opportunistic', 'implicit'] as const)('a mail goes encrypted by %s', async (tls) => {
  await using server = await startMailServer({ disabledCommands: [], secure: tls === 'implicit', ...own });
  const trusting = email(server.port, { host: 'localhost', tls, ca: own?.cert ?? '' });
  expect(await trusting.send(notification(), never())).toEqual({ kind: 'sent' });
  expect(server.mails).toMatchObject([{ secure: true, to: ['oncall@example.com'] }]);
  expect(await email(server.port, { host: 'localhost', tls }).send(notification(), never()), 'a certificate of nobody').toMatchObject({
    kind: 'retry',
  });
});

test('a server that never greets is left soon after the signal; one that nobody listens at is tried again', async () => {
  await using silent = await receiveRaw(() => {});
  const limit = new AbortController();
  const sent = email(Number(silent.url.port)).send(notification(), limit.signal);
  while (silent.connections() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  limit.abort();
  expect(await sent).toMatchObject({ kind: 'retry' });
  await using garbage = await receiveRaw((socket) => socket.write('\u0000HTTP/1.1 200 OK\r\n\r\n'));
  expect(await email(Number(garbage.url.port)).send(notification(), never())).toMatchObject({ kind: 'retry' });
  await silent[Symbol.asyncDispose]();
  expect(await email(Number(silent.url.port)).send(notification(), never())).toMatchObject({
    kind: 'retry',
    reason: expect.stringContaining('ECONNREFUSED'),
  });
});

test('private addresses are not connected to unless allowed', async () => {
  await using server = await startMailServer();
  const lookup: Lookup = (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
  for (const host of ['127.0.0.1', 'mail.example.com']) {
    const outcome = await email(server.port, { host, lookup, allowPrivate: false }).send(notification(), never());
    expect(outcome).toMatchObject({ kind: 'retry', reason: expect.stringContaining('set allow_private to true') });
  }
  expect(server.mails).toEqual([]);
});

test.each(['a@b.example', "o'brien+x@mail.example.com"])('%s is an address', (address) => expect(ADDRESS.test(address)).toBe(true));
test.each([
  '',
  'a',
  'a@',
  '@b',
  'a@b\r\nBcc: x@y',
  'A <a@b.example>',
  'a@b.example, c@d.example',
  'a b@c.example',
  '"a"@b.example',
  'a@b@c',
  'a@-b',
])('%j is none', (address) => expect(ADDRESS.test(address)).toBe(false));
