import { describe, expect, it } from 'vitest';
import { archiveHealth } from './archive-health.ts';
import type { LaneArchiveView } from './lane-archive-view.ts';

const view = (partition: number, more: Partial<LaneArchiveView> = {}): LaneArchiveView => ({
  topic: 'service-events',
  incarnation: 'aB-_9xYz',
  partition,
  chainEnd: 0,
  spooledRows: 0,
  spoolBytes: 0,
  waitingObjects: 0,
  waitingMs: 0,
  problem: undefined,
  ...more,
});

describe('the health of the lake', () => {
  it('is ok while objects wait their turn', () => {
    expect(archiveHealth([view(0), view(1, { waitingObjects: 1, waitingMs: 20_000 })]).state).toBe('ok');
  });

  it('names the partition whose object can not be written, and why', () => {
    const { state, sentence } = archiveHealth([view(0), view(4, { problem: 'the store is away' }), view(5, { problem: 'too' })]);
    expect(state).toBe('degraded');
    expect(sentence).toContain('partition 4 (and 1 more)');
    expect(sentence).toContain('the store is away');
  });

  it('names the partition that waits although nothing failed', () => {
    const { state, sentence } = archiveHealth([view(2, { waitingObjects: 1, waitingMs: 75_000 })]);
    expect(state).toBe('degraded');
    expect(sentence).toContain('partition 2');
    expect(sentence).toContain('75 s');
  });
});
