import { expect, test } from 'vitest';
import { CanaryTrack } from './canary-track.ts';

const NOW = 1_000_000;

function postedAt(...times: readonly number[]): CanaryTrack {
  const track = new CanaryTrack();
  for (const at of times) {
    track.posted(at);
    track.answered([0, 1], { kind: 'accepted' }, at + 10);
  }
  return track;
}

test('a canary that was accepted is waited for until one of its partition is seen, and its round trip is told once', () => {
  const track = postedAt(NOW, NOW + 5000);
  expect(track.states(NOW + 5010).map(({ waitingMs }) => waitingMs)).toEqual([5000, 5000]);
  expect(track.saw(0, NOW, NOW + 5400)).toBe(5400);
  expect(track.saw(0, NOW, NOW + 5600)).toBeUndefined();
  expect(track.states(NOW + 6000)).toEqual([
    { partition: 0, ageMs: 6000, waitingMs: 0 },
    { partition: 1, ageMs: undefined, waitingMs: 5990 },
  ]);
});

test('what a process before this one had posted ends no wait, and is no round trip', () => {
  const track = postedAt(NOW);
  expect(track.saw(0, NOW - 1, NOW + 50)).toBeUndefined();
  expect(track.states(NOW + 50)[0]?.waitingMs).toBe(40);
});

test('what was not accepted is not waited for: that is the gateway’s fault, and its reason is kept until a round is taken', () => {
  const track = new CanaryTrack();
  track.posted(NOW);
  track.answered([0], { kind: 'failed', reason: 'no answer' }, NOW + 1);
  track.answered([0], { kind: 'failed', reason: 'it answered 503' }, NOW + 5001);
  expect(track.states(NOW + 9000)).toEqual([]);
  expect(track.failing(NOW + 9001)).toEqual({ forMs: 9000, reason: 'it answered 503' });
  track.answered([0], { kind: 'accepted' }, NOW + 10_000);
  expect(track.failing(NOW + 11_000).forMs).toBe(0);
});

test('partitions that get no canary any more are forgotten', () => {
  const track = postedAt(NOW);
  track.keep(new Set([1]));
  expect(track.states(NOW).map(({ partition }) => partition)).toEqual([1]);
  track.keep(new Set());
  expect(track.states(NOW)).toEqual([]);
});
