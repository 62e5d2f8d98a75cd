import { expect, test } from 'vitest';
import { hidingSecrets } from './hiding-secrets.ts';
import { outcomeOf } from './http-post.ts';
import { notification } from './testing/notifications.ts';

const TOKEN = 'tok-Zq8/w+7<&"é';
const HOOK = 'https://hooks.example.com/services/T0AB12CD/B0EF34GH/xoxbWq9rT2?key=k3y%2Fval';

async function told(reason: string, ...secrets: readonly string[]): Promise<string> {
  const notifier = { name: 'n', send: async () => ({ kind: 'refused', reason }) as const, close: async () => {} };
  const outcome = await hidingSecrets(notifier, secrets).send(notification(), new AbortController().signal);
  return 'reason' in outcome ? outcome.reason : '';
}

test('a secret that stands where an answer is cut is struck out whole', async () => {
  for (let before = 150; before < 520; before += 1) {
    const { reason } = outcomeOf({ status: 400, retryAfter: undefined, text: `${'.'.repeat(before)}hush-9f3c2b71 said` }, 0) as {
      readonly reason: string;
    };
    expect(await told(reason, 'hush-9f3c2b71'), String(before)).not.toContain('hush');
  }
  // As where the body is read up to a bound: white space makes the text shorter afterwards.
  expect(await told(`answered 400: ${' '.repeat(4000)}bad hush-9f3c2b`, 'hush-9f3c2b71')).toBe('answered 400: bad (secret)');
});

test('of a secret URL neither the path without its slash, nor a part of it that is a token, nor what its query says is shown', async () => {
  for (const part of [
    'services/T0AB12CD/B0EF34GH/xoxbWq9rT2',
    'B0EF34GH/xoxbWq9rT2',
    'xoxbWq9rT2',
    'T0AB12CD',
    'key=k3y%2Fval',
    'k3y/val',
    'XOXBWQ9RT2',
  ])
    expect(await told(`no hook ${part}, sorry`, HOOK), part).toBe('no hook (secret), sorry');
  expect(await told('the hooks of the services are away', HOOK)).toBe('the hooks of the services are away');
});

test('what SMTP sends of a login, in base64, is struck out whatever stands before the password', async () => {
  for (const user of ['', 'a', 'ab', 'abc', 'tailrace@example.com']) {
    const plain = Buffer.from(`\0${user}\0pässword-9f3c`).toString('base64');
    expect(await told(`535 5.7.8 AUTH PLAIN ${plain} is wrong`, 'pässword-9f3c')).toBe('535 5.7.8 AUTH PLAIN (secret) is wrong');
  }
  expect(await told(`535 ${Buffer.from('pässword-9f3c').toString('base64')}`, 'pässword-9f3c')).toBe('535 (secret)');
});

test('of secrets that begin with or reach into one another no rest stays', async () => {
  expect(await told('is abcdef1234 wrong', 'abcdef', 'abcdef1234')).toBe('is (secret) wrong');
  expect(await told('is xyabcdef wrong', 'abcdef', 'xyabc')).toBe('is (secret) wrong');
});

test('a secret that is escaped for HTML, a URL or JSON, once or twice, is struck out', async () => {
  const html = (text: string): string => text.replaceAll(/[&<>"/+é]/g, (unit) => `&#${unit.charCodeAt(0)};`);
  const named = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  const json = (text: string): string => JSON.stringify(text).slice(1, -1);
  const php = (text: string): string => json(text).replaceAll('/', '\\/').replaceAll('é', '\\u00e9');
  const lower = (text: string): string => encodeURIComponent(text).toLowerCase();
  const forms = [html, named, json, php, lower, encodeURIComponent, encodeURI, (text: string) => text];
  for (const outer of forms)
    for (const inner of forms) expect(await told(`<${outer(inner(TOKEN))}>`, TOKEN), outer(inner(TOKEN))).toBe('<(secret)>');
});

test('of a header neither the part behind its scheme nor the password in it is shown', async () => {
  expect(await told('no s3cr3t-token here', 'Bearer s3cr3t-token')).toBe('no (secret) here');
  expect(await told('no pass-9f3c here', `Basic ${Buffer.from('u:pass-9f3c').toString('base64')}`)).toBe('no (secret) here');
});

test('a reason without a secret stays, and a long one is cut', async () => {
  expect(await told('connect ECONNREFUSED 10.0.0.1:25 100% &amp; \\n', TOKEN, HOOK)).toBe(
    'connect ECONNREFUSED 10.0.0.1:25 100% &amp; \\n',
  );
  expect(await told('x'.repeat(20_000), TOKEN)).toHaveLength(500);
});
