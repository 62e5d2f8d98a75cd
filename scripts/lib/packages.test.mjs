import { expect, test } from 'vitest';
import { isInstalled, npm } from './packages.mjs';

const lock = {
  packages: {
    '': { version: '0.1.0' },
    'apps/cli': { version: '0.1.0' },
    'node_modules/@tailrace/cli': { resolved: 'apps/cli', link: true },
    'node_modules/pino': { version: '10.4.0', integrity: 'sha512-a' },
    'apps/cli/node_modules/pino': { version: '9.0.0', integrity: 'sha512-b' },
    'node_modules/esbuild-darwin': { version: '1.0.0', integrity: 'sha512-c', optional: true },
  },
};

/** @param {Record<string, object | undefined>} changes */
function installed(changes) {
  const { '': _root, 'node_modules/esbuild-darwin': _other, ...packages } = lock.packages;
  return { packages: { ...packages, ...changes } };
}

test('what npm installed here from this lock is installed, without the root and what is for other platforms', () => {
  expect(isInstalled(lock, installed({}))).toBe(true);
});

test.each([
  ['a package is missing', { 'node_modules/pino': undefined }],
  ['a nested package is missing', { 'apps/cli/node_modules/pino': undefined }],
  ['another version is there', { 'node_modules/pino': { version: '10.3.0', integrity: 'sha512-a' } }],
  ['other bytes are there', { 'node_modules/pino': { version: '10.4.0', integrity: 'sha512-x' } }],
  ['a workspace is not linked', { 'node_modules/@tailrace/cli': undefined }],
  ['an optional package has another version', { 'node_modules/esbuild-darwin': { version: '0.9.0', integrity: 'sha512-c' } }],
])('npm has to run when %s', (_, changes) => {
  expect(isInstalled(lock, installed(changes))).toBe(false);
});

test('npm has to run where it never ran to its end', () => {
  expect(isInstalled(lock, {})).toBe(false);
});

test('the npm that runs us is used again, another package manager is not taken for it', () => {
  expect(npm({ npm_execpath: '/x/npm-cli.js' }, ['ci'])).toEqual([process.execPath, ['/x/npm-cli.js', 'ci']]);
  expect(npm({ npm_execpath: '/x/yarn.js' }, ['ci'])).toEqual(['npm', ['ci']]);
  expect(npm({}, ['ci'])).toEqual(['npm', ['ci']]);
});
