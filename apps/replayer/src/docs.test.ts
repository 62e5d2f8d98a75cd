import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { updateDocs } from './config.ts';
import { replayPage } from './docs.ts';

const file = new URL('../../../docs/reference/replay.md', import.meta.url);

test('the page about replays is what the commands say (UPDATE_DOCS=1 writes it)', () => {
  if (updateDocs) writeFileSync(file, replayPage());
  expect(readFileSync(file, 'utf8')).toBe(replayPage());
});
