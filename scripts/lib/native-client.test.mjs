import { expect, test } from 'vitest';
import { nativeKey } from './native-client.mjs';

const machine = { abi: '115', platform: 'linux', arch: 'x64', libc: 'glibc', system: 'debian12' };

test('a build is named by all that it depends on', () => {
  const key = nativeKey('1.10.1', machine);
  expect(key).toBe('1.10.1-abi115-linux-x64-glibc-debian12');
  const others = Object.keys(machine).map((name) => nativeKey('1.10.1', { ...machine, [name]: 'other' }));
  expect(new Set([key, nativeKey('1.10.2', machine), ...others]).size).toBe(7);
});

test('a name holds nothing that a file name can not', () => {
  expect(nativeKey('1.10.1', { ...machine, system: 'odd os/1 "x"' })).toMatch(/^[\w.-]+$/);
});
