import { describe, expect, it } from 'vitest';
import { archiveHealth as healthOf } from './archive-health.ts';
import type { LaneArchiveView, LaneOpening } from './lane-archive-view.ts';

const view = (partition: number, more: Partial<LaneArchiveView> = {}): LaneArchiveView => ({
  topic: 'service-events',
  incarnation: 'aB-_9xYz',
  partition,
  chainEnd: 0,
  spooledRows: 0,
  spoolBytes: 0,
  waitingObjects: 0,
  waitingMs: 0,
  attempt: undefined,
  problem: undefined,
  failedStep: undefined,
  ...more,
});

const archiveHealth = (views: readonly LaneArchiveView[], openings: readonly LaneOpening[] = []) =>
  healthOf(views, openings, { kafka: 'Kafka at k:1', lake: 'S3 at http://s:2' });

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

  it('names the partition whose store does not answer, before the client has given it up', () => {
    const attempt = (forMs: number) => ({ step: 'write to the store', forMs }) as const;
    expect(archiveHealth([view(2, { attempt: attempt(9_000) })]).state).toBe('ok');
    const { state, sentence } = archiveHealth([view(2, { attempt: attempt(12_500) })]);
    expect(state).toBe('degraded');
    expect(sentence).toContain('partition 2 can not be written to the lake (S3 at http://s:2) now');
    expect(sentence).toContain('to write to the store has had no answer for 12 s');
    expect(archiveHealth([view(2, { attempt: { step: 'build the file', forMs: 30_000 } })]).state).toBe('ok');
  });

  it('names the partition whose chain can not be opened, before the client has given it up', () => {
    const opening = (forMs: number) => archiveHealth([view(0)], [{ topic: 'service-events', partition: 7, forMs }]);
    expect(opening(3_000).state).toBe('ok');
    expect(opening(11_000)).toMatchObject({ state: 'degraded', sentence: expect.stringContaining('partition 7') });
    expect(opening(11_000).sentence).toContain('could not be opened for 11 s');
  });

  it('names the partition that waits although nothing failed', () => {
    const { state, sentence } = archiveHealth([view(2, { waitingObjects: 1, waitingMs: 75_000 })]);
    expect(state).toBe('degraded');
    expect(sentence).toContain('partition 2');
    expect(sentence).toContain('75 s');
  });

  it('does not blame the lake while it is Kafka that does not answer', () => {
    const problem = 'Local: Timed out';
    const blamed = (step: 'look up the topic' | 'write to the store') => archiveHealth([view(6, { problem, failedStep: step })]).sentence;
    const rest = '; Kafka keeps its records until they are in the lake: Local: Timed out';
    expect(blamed('look up the topic')).toBe(`service-events, partition 6 waits for Kafka at k:1${rest}`);
    expect(blamed('write to the store')).toBe(`service-events, partition 6 can not be written to the lake (S3 at http://s:2) now${rest}`);
    const { sentence } = archiveHealth([view(6, { attempt: { step: 'look up the topic', forMs: 12_000 } })]);
    expect(sentence).toMatch(/^service-events, partition 6 waits for Kafka at k:1; .*: to look up the topic has had no answer for 12 s$/);
  });
});
