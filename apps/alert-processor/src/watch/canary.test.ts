import { partitionForKey } from '@tailrace/events';
import { ManualClock } from '@tailrace/kafka-kit/testing';
import { afterEach, expect, test } from 'vitest';
import type { HttpPost } from '../notify/http-post.ts';
import { CanaryPoster } from './canary.ts';
import { CanaryTrack } from './canary-track.ts';

interface Line {
  readonly timestamp: string;
  readonly customer_id: string;
  readonly service: string;
  readonly attributes: { readonly sequence: number };
}

const posters: CanaryPoster[] = [];
afterEach(async () => {
  await Promise.all(posters.map((poster) => poster.stop()));
});

/** A poster every 5 s whose gateway answers as it is told, in as many milliseconds as it is told. */
function rig() {
  const clock = new ManualClock();
  const gateway = { status: 200, text: '{"accepted":12}', ms: 0, fault: undefined as Error | undefined };
  const posts: HttpPost[] = [];
  const changes: (string | undefined)[] = [];
  const answered: [string, number][] = [];
  const stage = { partitions: 12 as number | undefined, decides: true };
  const track = new CanaryTrack();
  const poster = new CanaryPoster(
    { url: new URL('http://gateway:8080/'), everyMs: 5000 },
    {
      clock,
      track,
      partitions: () => stage.partitions,
      decidesHere: () => stage.decides,
      answered: ({ kind }, canaries) => answered.push([kind, canaries]),
      onChange: (fault) => changes.push(fault),
      post: async (post) => {
        posts.push(post);
        await clock.sleep(gateway.ms, post.signal);
        if (gateway.fault !== undefined) throw gateway.fault;
        return { status: gateway.status, text: gateway.text, retryAfter: undefined };
      },
    },
  );
  posters.push(poster);
  const lines = (post: HttpPost | undefined): readonly Line[] =>
    (post?.body ?? '')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  return { clock, gateway, posts, changes, answered, stage, track, poster, lines };
}

test('each round is one post with a canary for each partition, with its time and its number, on its way every 5 s', async () => {
  const { clock, posts, answered, lines } = rig();
  await clock.advance(5000);
  expect(posts.map(({ url, headers }) => [url.href, headers])).toEqual(
    Array(2).fill(['http://gateway:8080/v1/events', { 'content-type': 'application/x-ndjson' }]),
  );
  const second = lines(posts[1]);
  expect(second.map(({ customer_id }) => partitionForKey(Buffer.from(customer_id), 12))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(second[4]).toEqual({
    timestamp: new Date(clock.nowMs()).toISOString(),
    customer_id: lines(posts[0])[4]?.customer_id,
    service: 'tailrace.canary',
    attributes: { sequence: 2 },
  });
  expect(answered).toEqual([
    ['accepted', 12],
    ['accepted', 12],
  ]);
});

test('a gateway that is slow gets its canaries at the same rate', async () => {
  const { clock, posts, gateway } = rig();
  await clock.advance(0);
  gateway.ms = 3000;
  await clock.advance(20_000);
  expect(posts).toHaveLength(5);
});

test('a fault is told once, another one again, and its end once; each round is counted', async () => {
  const { clock, gateway, changes, answered, track } = rig();
  await clock.advance(0);
  gateway.fault = new Error('connect ECONNREFUSED');
  await clock.advance(15_000);
  Object.assign(gateway, { fault: undefined, status: 503, text: '{"error":"deadline_passed","accepted":11,"unknown":1}' });
  await clock.advance(10_000);
  expect(track.failing(clock.nowMs()).forMs).toBe(20_000);
  gateway.status = 200;
  await clock.advance(10_000);
  expect(changes).toEqual(['no answer (connect ECONNREFUSED)', 'it answered 503: deadline_passed', undefined]);
  expect(answered.map(([kind]) => kind)).toEqual(['accepted', ...Array(5).fill('failed'), 'accepted', 'accepted']);
});

test('an answer that is none of the gateway’s is shown in one line', async () => {
  const { clock, gateway, changes } = rig();
  Object.assign(gateway, { status: 502, text: '<html>\n\u001b[31mBad Gateway' });
  await clock.advance(0);
  expect(changes).toEqual(['it answered 502: <html> [31mBad Gateway']);
});

test('without a partition that is decided here, or before their number is known, none is posted; and it begins by itself', async () => {
  const { clock, posts, stage } = rig();
  stage.partitions = undefined;
  await clock.advance(0);
  const before = posts.length;
  await clock.advance(10_000);
  Object.assign(stage, { partitions: 12, decides: false });
  await clock.advance(10_000);
  expect(posts).toHaveLength(before);
  stage.decides = true;
  await clock.advance(5000);
  expect(posts).toHaveLength(before + 1);
});

test('a stop ends a post that hangs, which is then no fault of the gateway', async () => {
  const clock = new ManualClock();
  const changes: (string | undefined)[] = [];
  const poster = new CanaryPoster(
    { url: new URL('http://gateway'), everyMs: 5000 },
    {
      clock,
      track: new CanaryTrack(),
      partitions: () => 2,
      decidesHere: () => true,
      answered: () => {},
      onChange: (fault) => changes.push(fault),
      post: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
    },
  );
  await clock.advance(0);
  await poster.stop();
  expect(changes).toEqual([]);
});
