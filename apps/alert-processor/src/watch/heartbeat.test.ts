import { ManualClock } from '@tailrace/kafka-kit/testing';
import { afterEach, expect, test } from 'vitest';
import { Deliveries } from '../notify/deliveries.ts';
import type { HttpPost } from '../notify/http-post.ts';
import { outcomeOf } from '../notify/http-post.ts';
import { notification } from '../notify/testing/notifications.ts';
import { CanaryTrack } from './canary-track.ts';
import { type Beat, Heartbeat, heartbeatBody } from './heartbeat.ts';
import { canariesComeRound, channelsTell, decidesStill, everyPartitionIsRead, queuesMove } from './vitals.ts';

const hearts: Heartbeat[] = [];
afterEach(async () => {
  await Promise.all(hearts.map((heart) => heart.stop()));
});

function rig() {
  const clock = new ManualClock();
  const receiver = { status: 200, fault: undefined as Error | undefined };
  const world = { faults: [] as (string | undefined)[] };
  const posts: HttpPost[] = [];
  const beats: Beat[] = [];
  const changes: (string | undefined)[] = [];
  hearts.push(
    new Heartbeat(new URL('https://watchdog.example/ping/secret'), {
      clock,
      vitals: [() => world.faults[0], () => world.faults[1]],
      beat: (beat) => beats.push(beat),
      onChange: (fault) => changes.push(fault),
      post: async (post) => {
        posts.push(post);
        if (receiver.fault !== undefined) throw receiver.fault;
        return { status: receiver.status, text: '', retryAfter: undefined };
      },
    }),
  );
  return { clock, receiver, world, posts, beats, changes };
}

test('it beats every 10 s while all is well', async () => {
  const { clock, posts, beats, changes } = rig();
  await clock.advance(30_000);
  expect(beats).toEqual(['sent', 'sent', 'sent', 'sent']);
  expect(posts[0]?.url.href).toBe('https://watchdog.example/ping/secret');
  expect(changes).toEqual([]);
});

test('it is silent while anything that alerts need is not well, and says once why', async () => {
  const { clock, world, posts, beats, changes } = rig();
  await clock.advance(0);
  world.faults = [undefined, 'nothing was decided for 16 s'];
  await clock.advance(10_000);
  world.faults = [undefined, 'nothing was decided for 26 s'];
  await clock.advance(10_000);
  expect(posts).toHaveLength(1);
  world.faults = ['the gateway is away', 'nothing was decided for 36 s'];
  await clock.advance(10_000);
  world.faults = [];
  await clock.advance(10_000);
  expect(beats).toEqual(['sent', 'withheld', 'withheld', 'withheld', 'sent']);
  expect(changes).toEqual([
    'the heartbeat is withheld: nothing was decided for 16 s',
    'the heartbeat is withheld: the gateway is away; nothing was decided for 36 s',
    undefined,
  ]);
});

test('a receiver that does not take it is told once, without its address, which may be a secret', async () => {
  const { clock, receiver, beats, changes } = rig();
  receiver.fault = new Error('connect ECONNREFUSED');
  await clock.advance(10_000);
  receiver.fault = undefined;
  receiver.status = 404;
  await clock.advance(10_000);
  receiver.status = 204;
  await clock.advance(10_000);
  expect(beats).toEqual(['sent', 'failed', 'failed', 'sent']);
  expect(changes).toHaveLength(3);
  expect(changes.join()).not.toContain('watchdog.example');
  expect(changes[1]).toBe('the heartbeat does not reach its receiver (ALERT_HEARTBEAT_URL): it answered 404');
});

test('its body is what Alertmanager takes: a list of one alert that ends by itself when no other beat comes', () => {
  const [alert, ...more] = JSON.parse(heartbeatBody(0)) as { labels: Record<string, string>; endsAt: string }[];
  expect(more).toEqual([]);
  expect(alert).toMatchObject({ labels: { alertname: 'TailraceHeartbeat' }, endsAt: '1970-01-01T00:01:00.000Z' });
});

test('what it hangs on: decisions that are written, partitions that are read, canaries that come round, notifications that leave', () => {
  const NOW = 1_000_000;
  let tickedMs: (number | undefined)[] = [];
  const decides = decidesStill(() => tickedMs);
  expect(decides(NOW)).toBe('this process decides about nothing');
  tickedMs = [NOW, undefined];
  expect(decides(NOW)).toBe('1 of 2 partitions are not decided about yet');
  tickedMs = [NOW, NOW - 15_000];
  expect(decides(NOW)).toBeUndefined();
  expect(decides(NOW + 1000)).toBe('nothing was decided, or written, for 16 s');

  const track = new CanaryTrack();
  const come = canariesComeRound(track);
  expect(come(NOW)).toBeUndefined();
  track.posted(NOW);
  track.answered([0, 1], { kind: 'accepted' }, NOW);
  expect(come(NOW + 10)).toBe('no canary has come back yet from 2 partitions');
  track.saw(0, NOW, NOW + 500);
  track.saw(1, NOW, NOW + 500);
  expect(come(NOW + 500)).toBeUndefined();
  track.answered([0, 1], { kind: 'accepted' }, NOW + 1000);
  track.saw(0, NOW + 1000, NOW + 2000);
  expect(come(NOW + 31_001)).toBe('canaries do not come back from the partitions 1');
  track.answered([0, 1], { kind: 'failed', reason: 'no answer' }, NOW + 40_000);
  expect(come(NOW + 70_001)).toBe('the gateway does not take canaries (no answer)');

  const heard = (heardMs: number | undefined) => everyPartitionIsRead(() => [{ partition: 4, watermarkMs: 0, heardMs, blind: [] }])(NOW);
  expect([heard(NOW - 30_000), heard(NOW - 30_001), heard(undefined)]).toEqual([
    undefined,
    'nobody is heard of who reads the partitions 4',
    'nobody is heard of who reads the partitions 4',
  ]);

  let oldestMs: number | undefined;
  const move = queuesMove(() => [
    { channel: 'oncall', held: 3, oldestMs, untold: 0 },
    { channel: 'chat', held: 0, oldestMs: undefined, untold: 0 },
  ]);
  expect(move(NOW)).toBeUndefined();
  oldestMs = NOW - 120_000;
  expect(move(NOW)).toBeUndefined();
  expect(move(NOW + 1)).toBe('notifications wait for oncall (3)');
  // A channel holds no more than that: what waits beyond it is not counted.
  const full = queuesMove(() => [{ channel: 'oncall', held: 1000, oldestMs: 0, untold: 0 }]);
  expect(full(NOW)).toBe('notifications wait for oncall (1000 or more)');
});

test('a channel that refuses everything withholds the heartbeat until it takes something', async () => {
  const clock = new ManualClock();
  let status = 404;
  const notifier = { name: 'oncall', send: async () => outcomeOf({ status, text: '', retryAfter: undefined }, 0), close: async () => {} };
  const deliveries = new Deliveries([notifier], () => {}, { clock });
  const tell = channelsTell(() => deliveries.view());
  const faults: (string | undefined)[] = [];
  for (const incident of ['a', 'b', 'c', 'd', 'e']) {
    if (incident === 'e') status = 200;
    deliveries.deliver({ notification: notification({ incident }), channel: 'oncall', attempts: 0 });
    await clock.advance(0);
    faults.push(tell(0));
  }
  const mute = (count: number): string => `nobody is told through oncall (its last ${count} notifications were refused or given up)`;
  expect(faults).toEqual([undefined, undefined, mute(3), mute(4), undefined]);
});
