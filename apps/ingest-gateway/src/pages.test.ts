import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ANSWERS } from './answers.ts';
import { updateDocs } from './config.ts';
import { errorsPage } from './errors-page.ts';
import { httpPage } from './http-page.ts';

test.each([
  ['errors.md', errorsPage],
  ['http-api.md', httpPage],
])('the page %s is the one that the tables make (UPDATE_DOCS=1 writes it)', (name, page) => {
  const file = new URL(`../../../docs/reference/${name}`, import.meta.url);
  if (updateDocs) writeFileSync(file, page());
  expect(readFileSync(file, 'utf8')).toBe(page());
});

test('no answer is 500, and exactly those that may be repeated say when', () => {
  for (const row of Object.values(ANSWERS)) {
    expect(row.status).not.toBe(500);
    expect('retryAfterSeconds' in row).toBe(row.status === 429 || row.status === 503);
  }
});
