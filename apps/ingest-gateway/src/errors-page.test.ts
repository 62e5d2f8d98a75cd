import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ANSWERS } from './answers.ts';
import { updateDocs } from './config.ts';
import { errorsPage } from './errors-page.ts';

const page = new URL('../../../docs/reference/errors.md', import.meta.url);

test('the page of answers is the one that the table makes', () => {
  if (updateDocs) writeFileSync(page, errorsPage());
  expect(readFileSync(page, 'utf8')).toBe(errorsPage());
});

test('no answer is 500, and exactly those that may be repeated say when', () => {
  for (const row of Object.values(ANSWERS)) {
    expect(row.status).not.toBe(500);
    expect('retryAfterSeconds' in row).toBe(row.status === 429 || row.status === 503);
  }
});
