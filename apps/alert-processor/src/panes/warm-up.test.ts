import { expect, test } from 'vitest';
import { warmUpHealth } from './warm-up.ts';

test('while what came before is counted the process is degraded and says so; then how long it took', () => {
  const warming = warmUpHealth({ kind: 'warming', sinceMs: 0, partitions: 3 });
  expect(warming.state).toBe('degraded');
  expect(warming.sentence).toMatch(/^Warming up since 1970-01-01T00:00:00.000Z: 3 partitions are/);
  expect(warmUpHealth({ kind: 'warm', tookMs: 4250 })).toEqual({
    state: 'ok',
    sentence: 'What came before the start was counted within 4.3 s.',
  });
  expect(warmUpHealth({ kind: 'waiting' }).state).toBe('ok');
});
