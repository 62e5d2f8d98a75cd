import { expect, it } from 'vitest';
import { hintsFor } from './hints.ts';

const HINT = 'stop the group, run: npx tailrace group reset --to latest, and start it; npx tailrace dlq ls shows more';

it('a command that is named works where the one did that names it: with the same endpoints file', () => {
  expect(hintsFor(undefined, HINT)).toBe(HINT);
  expect(hintsFor('tailrace.json', HINT)).toBe(
    'stop the group, run: npx tailrace --endpoints tailrace.json group reset --to latest, and start it; npx tailrace --endpoints tailrace.json dlq ls shows more',
  );
  expect(hintsFor("my $& file's.json", 'run: npx tailrace topics apply')).toBe(
    "run: npx tailrace --endpoints 'my $& file'\\''s.json' topics apply",
  );
});
