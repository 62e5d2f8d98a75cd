import { afterEach, expect, it } from 'vitest';
import { runtimeHealth } from '../observe/runtime-health.ts';
import type { DeadLetter } from '../recover/dead-letter.ts';
import { DEAD, DeadLetterRig } from '../testing/dead-letter-rig.ts';
import { GROUP, kinds, TOPIC } from '../testing/runtime-rig.ts';
import { STORED } from './contract.ts';

let rig = new DeadLetterRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const look = ({ origin }: DeadLetter): string => `show ${origin.partition}/${origin.offset}`;

it('one bad key buries as much as it likes, and the lane goes on; when most keys fail at once it stops, names them, and loses nothing', async () => {
  const keyOf = ({ value, reason }: DeadLetter): string => `${reason} ${value?.toString()}`;
  rig = await DeadLetterRig.open(1, {}, { keyOf, wayOut: 'if the records are bad indeed, restart it without the halt', look });
  const member = await rig.running();
  const bad = new Set(['s0']);
  member.sink.respond = ({ batch, offsets }) => offsets.map((_, i) => (bad.has(String(batch.value(i))) ? DEAD : STORED));
  const send = (count: number, services: number): void => {
    rig.cluster.append(rig.tp(), ...Array.from({ length: count }, (_, i) => ({ value: Buffer.from(`s${i % services}`) })));
  };
  send(2000, 1);
  send(2000, 20);
  await rig.until(() => rig.committed() === 4000, 'one bad service stops nobody');
  expect(rig.buried()).toHaveLength(2100);
  for (let i = 0; i < 20; i += 1) bad.add(`s${i}`);
  send(5000, 20);
  await rig.until(() => rig.lane(member).phase === 'halted', 'it stops');
  const stoppedAt = rig.committed() ?? 0;
  // About half of the window had to turn bad first.
  expect(stoppedAt - 4000).toBeGreaterThan(400);
  expect(stoppedAt - 4000).toBeLessThan(700);
  expect(rig.lane(member).halted).toMatch(
    new RegExp(
      `^Group ${GROUP} stopped this partition: of the last 1000 records of ${TOPIC}, partition 0, \\d+ are dead, under 20 keys ` +
        `\\((not-json s\\d+: \\d+, ){4}not-json s\\d+: \\d+ and 15 more\\), which looks like a fault of its own; ` +
        `for example offset (\\d+), not-json \\(no brace: at 7\\): look at it with show 0/\\2\\. ` +
        `Put it right and restart it: it reads on from offset ${stoppedAt}; if the records are bad indeed, restart it without the halt\\.$`,
    ),
  );
  expect(runtimeHealth(member.runtime, undefined, rig.clock.nowMs())).toMatchObject({
    state: 'degraded',
    sentence: rig.lane(member).halted,
  });
  await rig.clock.advance(60_000);
  expect(rig.committed()).toBe(stoppedAt);
  await rig.stop(member);
  bad.clear();
  await rig.running();
  await rig.until(() => rig.committed() === 9000, 'put right and restarted, it reads on');
  expect(rig.buried()).toHaveLength(2100 + stoppedAt - 4000);
});

it('a batch that is longer than what is looked at counts in its order: a tenth that is bad, of every service, stops nothing', async () => {
  const keyOf = ({ via }: DeadLetter): string => `k${via.offset % 20}`;
  const batch = { maxRecords: 5000, maxBytes: 1_000_000, maxAgeMs: 100 };
  rig = await DeadLetterRig.open(1, { batch }, { keyOf, wayOut: 'x', look });
  const member = await rig.running();
  member.sink.respond = ({ offsets }) => offsets.map((offset) => (offset % 9 === 0 ? DEAD : STORED));
  rig.append(20_000);
  await rig.until(() => rig.committed() === 20_000, 'all is committed');
  expect(member.sink.writes.some(({ offsets }) => offsets.length > 4000)).toBe(true);
  expect(rig.buried()).toHaveLength(2223);
});

it('a lane that has stopped buries no more, whatever was still in the sink', async () => {
  const rule = { windowRecords: 1000, recordsPerKey: 1, minKeys: 5, minRecords: 5 };
  rig = await DeadLetterRig.open(1, { inFlightPerLane: 3 }, { keyOf: ({ via }) => `k${via.offset}`, wayOut: 'x', look, rule });
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(30);
  await rig.until(() => member.sink.open.length === 3, 'three in the sink');
  const [first, second, third] = member.sink.open;
  for (const each of [second, third, first]) each?.answer(each.offsets.map(() => DEAD));
  await rig.clock.advance(20_000);
  expect([kinds(member.events, 'lane-halted').length, rig.buried().length, rig.committed()]).toEqual([1, 0, 0]);
  expect(await rig.stop(member)).toMatchObject({ settledRecords: 0, abandonedRecords: 30 });
});
