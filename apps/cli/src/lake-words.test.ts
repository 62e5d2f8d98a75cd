import { expect, it, vi } from 'vitest';
import { main } from './main.ts';
import { runApp } from './verbs.ts';

vi.mock(import('./verbs.ts'), async (original) => ({ ...(await original()), runApp: vi.fn(async () => 0) }));

vi.stubEnv('AWS_ENDPOINT_URL_S3', '');
vi.stubEnv('AWS_REGION', 'r');
vi.stubEnv('TAILRACE_LAKE_BUCKET', 'b');

const SQL = '-- a comment, which looks like an option\nSELECT 1';

it.each([
  [
    ['lake', 'query', 'SELECT 1', '--from', 'T', '--json'],
    ['lake', 'query', '--json', 'SELECT 1', '--from', 'T'],
  ],
  [
    ['--json', 'lake', 'audit', '--no-kafka'],
    ['lake', 'audit', '--json', '--no-kafka'],
  ],
  [
    ['lake', 'query', '--', SQL],
    ['lake', 'query', '--', SQL],
  ],
  [
    ['lake', '--json', 'query', '--from', 'T', '--', SQL],
    ['lake', 'query', '--json', '--from', 'T', '--', SQL],
  ],
  [
    ['lake', 'query', '--help'],
    ['lake', 'query', '--help'],
  ],
])('the app that owns a verb gets every word, in order: %j', async (given, expected) => {
  expect(await main(given)).toBe(0);
  expect(vi.mocked(runApp).mock.lastCall?.[1]).toEqual(expected);
});
