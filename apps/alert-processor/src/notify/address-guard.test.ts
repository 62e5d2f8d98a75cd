import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPublicAddress, type Lookup, publicLookup, urlFault } from './address-guard.ts';

test.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.168.0.1',
  '198.18.0.1',
  '203.0.113.9',
  '224.0.0.1',
  '255.255.255.255',
  '168.63.129.16',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::127.0.0.1',
  '64:ff9b::a00:1',
  'fe80::1',
  'fe80::1%eth0',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  'not an address',
  '',
])('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false));

test.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '192.0.1.1', '2606:4700::1111', '2a00:1450:4001::200e', '2001:4860:4860::8888'])(
  '%s is public',
  (address) => expect(isPublicAddress(address)).toBe(true),
);

test.each([
  ['http://127.0.0.1/', '127.0.0.1 is a private'],
  ['http://2130706433/', '127.0.0.1 is a private'],
  ['http://0x7f.1/', '127.0.0.1 is a private'],
  ['http://0177.0.0.1/', '127.0.0.1 is a private'],
  ['http://127.1/', '127.0.0.1 is a private'],
  ['http://①②⑦.0.0.1/', '127.0.0.1 is a private'],
  ['http://127.0.0.1./', '127.0.0.1 is a private'],
  ['http://[::1]/', '::1 is a private'],
  ['http://[::ffff:7f00:1]/', '::ffff:7f00:1 is a private'],
  ['http://[0:0:0:0:0:ffff:a9fe:a9fe]/', '::ffff:a9fe:a9fe is a private'],
  ['ftp://example.com/', 'begins with ftp:'],
  ['file:///etc/passwd', 'begins with file:'],
  ['https://user:secret@example.com/', 'has a user or password in it'],
  ['no url', 'is no URL'],
])('%s is refused', (url, words) => {
  expect(urlFault(url, false)).toContain(words);
  expect(urlFault(url, false)).not.toContain('secret');
});

test('a public URL, and with the permission a private one, has no fault', () => {
  expect(urlFault('https://hooks.example.com/x?y=1', false)).toBeUndefined();
  expect(urlFault('http://127.0.0.1:9093/', true)).toBeUndefined();
});

function lookedUp(addresses: readonly string[], all: boolean): Promise<unknown> {
  const resolve: Lookup = (_name, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  return new Promise((done, fail) =>
    publicLookup(resolve)('a.example.com', { all }, (error, found) => (error === null ? done(found) : fail(error))),
  );
}

test('a name gives a socket its public addresses only, in both forms that sockets ask for', async () => {
  expect(await lookedUp(['10.0.0.1', '8.8.8.8', '::1'], true)).toEqual([{ address: '8.8.8.8', family: 4 }]);
  expect(await lookedUp(['10.0.0.1', '8.8.8.8'], false)).toBe('8.8.8.8');
  await expect(lookedUp(['10.0.0.1', '::1'], true)).rejects.toThrow('a.example.com is at 10.0.0.1, a private');
  await expect(lookedUp([], true)).rejects.toThrow('no address');
});

test('no IPv4 address becomes public by its IPv6 spelling', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(isPublicAddress(`::ffff:${address}`)).toBe(false);
    }),
  );
});
