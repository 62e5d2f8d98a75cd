import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { updateDocs } from './config.ts';
import { generatedDocs } from './docs.ts';

describe('generated docs', () => {
  it.each(Object.entries(generatedDocs))('%s is what the tables say (UPDATE_DOCS=1 writes it)', (place, page) => {
    const file = fileURLToPath(new URL(`../../../${place}`, import.meta.url));
    if (updateDocs) writeFileSync(file, page());
    expect(readFileSync(file, 'utf8')).toBe(page());
  });
});
