import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { updateDocs } from './config.ts';
import { indexerPage } from './docs.ts';

const file = new URL('../../../docs/reference/indexer.md', import.meta.url);

test('the indexer’s page is what its tables say (UPDATE_DOCS=1 writes it)', () => {
  if (updateDocs) writeFileSync(file, indexerPage());
  expect(readFileSync(file, 'utf8')).toBe(indexerPage());
});
