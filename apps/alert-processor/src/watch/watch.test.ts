import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ManualClock, metricFaults } from '@tailrace/kafka-kit/testing';
import { createLogger, createMetrics } from '@tailrace/service';
import { expect, test } from 'vitest';
import type { SelfCondition } from '../decide/self-conditions.ts';
import type { Message } from '../messages/message.ts';
import type { ChannelView } from '../notify/channel-queue.ts';
import { CANARY_RULE, canaryGroup } from './canary-rule.ts';
import type { SourceView } from './dead-man.ts';
import { Watch } from './watch.ts';
import { WATCH_METRICS } from './watch-metrics.ts';

const SOURCE = { topic: 'service-events', incarnation: 'AbCd-_12', partition: 0 };

function canaryCell(eventMs: number, rule = CANARY_RULE): Message {
  const cell = { rule: { name: rule, version: '1' }, group: canaryGroup('canary-1'), paneMs: 0, source: SOURCE, offset: 1 };
  return { kind: 'cells', cells: [{ ...cell, brokerMs: eventMs, eventMs, partial: ['count', 1] }] };
}

test('canaries go round through a gateway, conditions are told in every second, and every figure is fed', async () => {
  const posts: string[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      posts.push(request.url ?? '');
      response.writeHead(status).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const clock = new ManualClock();
  const metrics = createMetrics();
  const conditions: SelfCondition[] = [];
  const world = { sources: [] as readonly SourceView[] | undefined, channels: [] as readonly ChannelView[] };
  const watch = new Watch(
    {
      stream: 'service-events',
      latenessMs: 60_000,
      allowedDelayMs: 30_000,
      canary: { url, everyMs: 5000 },
      heartbeatUrl: new URL('/beat', url),
    },
    {
      clock,
      log: createLogger({ name: 'test', level: 'fatal', secrets: [] }),
      metrics,
      deciding: {
        streamPartitions: () => 1,
        owned: () => [7],
        decides: () => true,
        sources: () => world.sources,
        condition: (condition) => conditions.push(condition),
      },
      channels: () => world.channels,
    },
  );
  const counted = async (line: string) => (await metrics.metrics()).includes(`${line}\n`);
  const until = async (line: string) => {
    for (let look = 0; !(await counted(line)); look++) {
      if (look > 500) throw new Error(`never came: ${line}\n${await metrics.metrics()}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await until('tailrace_alert_canaries_total{outcome="accepted"} 1');
  const postedMs = clock.nowMs();
  await clock.advance(800);
  watch.accepted(7, canaryCell(postedMs, 'another-rule'));
  watch.ticked(7);
  expect(await counted('tailrace_alert_canary_round_trip_seconds_count 0')).toBe(true);
  watch.accepted(7, canaryCell(postedMs));
  // Another decider's tick decides nothing about it.
  watch.ticked(8);
  expect(await counted('tailrace_alert_canary_round_trip_seconds_count 0')).toBe(true);
  watch.accepted(7, canaryCell(postedMs - 5000));
  await clock.advance(300);
  watch.ticked(7);
  expect(await counted('tailrace_alert_canary_round_trip_seconds_sum 1.1')).toBe(true);
  expect(await counted('tailrace_alert_canary_age_seconds{partition="0"} 1.1')).toBe(true);
  // A second has not passed since the first look.
  expect(conditions.map(({ rule }) => rule)).toEqual(['tailrace.behind', 'tailrace.blind', 'tailrace.gateway']);
  status = 500;
  await clock.advance(3900);
  await until('tailrace_alert_canaries_total{outcome="failed"} 1');
  world.sources = undefined;
  watch.ticked(7);
  expect(conditions).toHaveLength(3);
  status = 200;
  world.sources = [{ partition: 0, watermarkMs: clock.nowMs() - 61_500, heardMs: clock.nowMs(), blind: [] }];
  watch.accepted(7, canaryCell(clock.nowMs()));
  await clock.advance(1000);
  watch.ticked(7);
  expect(await counted('tailrace_alert_counted_behind_seconds{partition="0"} 2.5')).toBe(false);
  // Only the next tick has decided upon all that was known at the look.
  watch.ticked(7);
  expect(await counted('tailrace_alert_counted_behind_seconds{partition="0"} 2.5')).toBe(true);
  expect(await counted('tailrace_alert_reader_heard_seconds{partition="0"} 1')).toBe(true);
  await clock.advance(4000);
  await until('tailrace_alert_heartbeats_total{outcome="sent"} 1');
  // /readyz and the heartbeat go by the same: a channel whose notifications have waited for long.
  const tick = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    world.sources = [{ partition: 0, watermarkMs: clock.nowMs() - 60_000, heardMs: clock.nowMs(), blind: [] }];
    for (let look = 0; look < 2; look++) watch.ticked(7);
  };
  await tick(1000);
  expect(watch.check('channels')).toEqual({ state: 'ok', sentence: 'Every channel takes what it is sent.' });
  world.channels = [{ channel: 'oncall', held: 8, oldestMs: clock.nowMs() - 120_001, untold: 0 }];
  expect(watch.check('channels')).toEqual({
    state: 'degraded',
    sentence: 'Mend the notifier or its receiver: notifications wait for oncall (8).',
  });
  await tick(9000);
  await until('tailrace_alert_heartbeats_total{outcome="withheld"} 2');
  world.channels = [];
  await clock.advance(20_000);
  expect(watch.check('alerts')).toEqual({
    state: 'degraded',
    sentence: expect.stringContaining('Alerts can not be told from here now: nothing was decided, or written, for '),
  });
  expect(await metricFaults(metrics, WATCH_METRICS)).toEqual([]);
  expect(new Set(posts)).toEqual(new Set(['/v1/events', '/beat']));
  await watch.stop();
  server.close();
  server.closeAllConnections();
});
