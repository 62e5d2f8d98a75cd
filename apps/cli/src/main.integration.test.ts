import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterEach, expect, it, vi } from 'vitest';
import { main } from './main.ts';

afterEach(() => vi.restoreAllMocks());

it('a group that Kafka does not know is wrong use, not a group that is far behind', async () => {
  endpointsFromEnvironment();
  let told = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    told += String(text);
    return true;
  });
  expect(await main(['group', 'lag', '--group', 'indexr'])).toBe(2);
  expect(told).toMatch(/^There is no group indexr that reads service-events: name one of alert-processor, indexer, archiver\.\n$/);
});
