import { expect, test } from 'vitest';
import { encodeMessage } from '../messages/codec.ts';
import { DeciderBench, T0, WEB } from '../testing/decider-bench.ts';
import { LATENESS_MS, PANE_MS, plainRule, ruleSet } from '../testing/plain-rules.ts';
import type { StateRecord } from './alert-state.ts';
import { DecideSink } from './decide-sink.ts';

const COUNT = plainRule().measure;
const ABSENCE = plainRule({ measure: { ...COUNT, kind: 'absence' }, window: { kind: 'sliding', ms: 30_000 }, rememberMs: 600_000 });
const SETTLED_PANE = 90;

function settled(): StateRecord {
  return { kind: 'partition', partition: 0, watermarkMs: T0 + SETTLED_PANE * PANE_MS, epoch: 0, owner: 'before' };
}

test('an hour that is read again for one rule takes no memory of the others, whose windows of it are decided', () => {
  const bench = new DeciderBench();
  bench.decider.restore([settled()]);
  bench.decider.passOver();
  for (let pane = 0; pane < 80; pane++) bench.count(pane, 9, { group: `["${pane}"]` });
  expect(bench.decider.groups).toBe(0);
  // The last windows that are not decided reach over those that are.
  bench.count(SETTLED_PANE - 3, 3);
  bench.count(SETTLED_PANE, 3);
  bench.mark(SETTLED_PANE);
  expect(bench.tick()).toEqual([`firing@${SETTLED_PANE - 5}`]);
});

test('of what is read again an absence still knows which groups there were, and when last', () => {
  const bench = new DeciderBench([ABSENCE]);
  bench.decider.restore([settled()]);
  bench.decider.passOver();
  const [remembered, forgotten] = [SETTLED_PANE - 40, SETTLED_PANE - 80];
  bench.count(remembered, 1);
  bench.count(forgotten, 1, { group: '["long ago"]' });
  expect(bench.decider.groups).toBe(1);
  bench.mark(SETTLED_PANE + 1);
  expect(bench.tick()).toEqual([`firing@${SETTLED_PANE - 2}`]);
  expect(bench.state()?.group).toBe(WEB);
});

/** Groups that are held of an old pane; `greatestMs`: the greatest broker time of a record of the log. */
async function heldOf(greatestMs: number, logEnd = 10): Promise<number> {
  const ownership = { partition: 0, epoch: 1, owner: 'me', provenEnd: 0, ownSince: 1, lost: false };
  const ignored = () => undefined;
  const sink = new DecideSink(ruleSet([plainRule()]), {
    log: { takeOver: async () => ({ ownership, records: [settled()] }) } as never,
    admin: {
      offsetsAtTimes: async (asked) =>
        asked.map(({ topic, partition, timeMs }) => ({
          topic,
          partition,
          offset: timeMs <= greatestMs ? (timeMs <= T0 ? 0 : 9) : undefined,
        })),
    },
    deliveries: { channels: [] } as never,
    nowMs: () => T0,
    clockStepMs: 0,
    partitions: 1,
    onMessage: ignored,
    onTicked: ignored,
    onTransition: ignored,
    onFault: ignored,
  });
  await sink.assign({ topic: 'alert-partials', partition: 0, incarnation: 'AbCd-_12', committed: 0, logStart: 0, logEnd });
  const source = { topic: 'service-events', incarnation: 'AbCd-_12', partition: 0 };
  const times = { paneMs: T0, offset: 1, brokerMs: T0 + 5000, eventMs: T0 };
  const value = encodeMessage({
    kind: 'cells',
    cells: [{ rule: { name: 'events-by-service', version: 'v1' }, group: WEB, source, ...times, partial: ['count', 6] }],
  });
  const batch = {
    source: { topic: 'alert-partials', partition: 0 },
    length: 1,
    offset: () => 0,
    value: () => value,
    timestampMs: () => T0 + 5000,
  };
  await sink.write(batch as never);
  return sink.counts.groups;
}

test('all that is read again is held where the log does not reach beyond what is decided: that time is taken back', async () => {
  const reachedMs = T0 + SETTLED_PANE * PANE_MS + LATENESS_MS;
  expect(await heldOf(reachedMs)).toBe(0);
  expect(await heldOf(reachedMs - 1)).toBe(1);
  // What lies behind the end up to which it is read before anything is decided proves nothing.
  expect(await heldOf(reachedMs, 9)).toBe(1);
});
