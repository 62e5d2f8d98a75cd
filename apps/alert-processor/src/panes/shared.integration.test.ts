import { systemClock } from '@tailrace/kafka-kit';
import { deleteRecordsBefore } from '@tailrace/kafka-kit/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { killMember, killMembers, startMember } from '../testing/member.ts';
import { countsOf, eventsNow, markOf, PanesRig, TestRules } from '../testing/panes-rig.ts';
import { plainRule, ruleSet } from '../testing/plain-rules.ts';
import { steadyTraffic } from '../testing/steady-traffic.ts';

const PARTITIONS = 4;
const SPANS = { paneMs: 2000, latenessMs: 4000 };
const WAIT = { timeout: 30_000, interval: 100 };
/** The session is 6 s; then the members that are left share anew. */
const TAKE_OVER_MS = 10_000;
let rig: PanesRig | undefined;

afterEach(async () => {
  killMembers();
  await rig?.close();
});

const rules = () => new TestRules(ruleSet([plainRule()], { paneMs: SPANS.paneMs, latenessMs: SPANS.latenessMs }));
const member = (made: PanesRig) => made.open(rules());
const reading = (panes: Awaited<ReturnType<typeof member>>): number =>
  panes.runtime.lanes().filter(({ phase }) => phase === 'running').length;

test('members that come, leave and are killed share the partitions without a wrong partial; a killed one’s are taken over within ten seconds', {
  timeout: 120_000,
}, async () => {
  rig = await PanesRig.make(PARTITIONS);
  const made = rig;
  const first = await member(made);
  await vi.waitFor(() => expect(reading(first)).toBe(PARTITIONS), WAIT);
  const stop = steadyTraffic(made, PARTITIONS);
  await systemClock.sleep(3000);
  const second = await member(made);
  await vi.waitFor(() => expect([reading(first), reading(second)]).toEqual([2, 2]), WAIT);
  await systemClock.sleep(3000);
  await second.close(10_000);
  await vi.waitFor(() => expect(reading(first)).toBe(PARTITIONS), WAIT);
  const killed = await startMember(made, 2, SPANS);
  await vi.waitFor(() => expect(reading(first)).toBe(2), WAIT);
  await systemClock.sleep(2000);
  const killedMs = Date.now();
  await killMember(killed);
  await vi.waitFor(() => expect(reading(first)).toBe(PARTITIONS), WAIT);
  expect(Date.now() - killedMs).toBeLessThan(TAKE_OVER_MS);
  await stop();
  await made.untilRead();
  expect(countsOf(await made.published())).toEqual((await made.recount(SPANS)).counts);
});

test('a member that comes under the name of an earlier one has its partitions at once, the earlier one ends, and no other one is disturbed', async () => {
  rig = await PanesRig.make(PARTITIONS);
  const made = rig;
  const other = await member(made);
  const stop = steadyTraffic(made, PARTITIONS);
  const named = { ...SPANS, instanceId: 'a' };
  const earlier = await startMember(made, 2, named);
  let told = '';
  earlier.stdout?.on('data', (text: Buffer) => {
    told += text.toString();
  });
  await vi.waitFor(() => expect(reading(other)).toBe(2), WAIT);
  const lanes = () => other.runtime.lanes().map(({ partition, phase }) => [partition, phase]);
  const before = lanes();
  // Fenced while it lives: no session has to end before.
  await startMember(made, 2, named);
  await vi.waitFor(() => expect(earlier.exitCode).toBe(1), WAIT);
  expect(told).toContain(`another process has joined the group ${made.group} under the name a,`);
  expect(lanes()).toEqual(before);
  await stop();
  await made.untilRead();
  expect(countsOf(await made.published())).toEqual((await made.recount(SPANS)).counts);
});

test('Kafka deleted what was not counted: on from the log’s start, and the mark says from when on it counts', async () => {
  rig = await PanesRig.make(1);
  const made = rig;
  const before = await member(made);
  await vi.waitFor(() => expect(reading(before)).toBe(1), WAIT);
  await made.post(eventsNow(30), 0);
  await made.untilRead();
  await before.close(10_000);
  await made.post(eventsNow(30), 0);
  await systemClock.sleep(SPANS.paneMs);
  const postedMs = Date.now();
  await made.post(eventsNow(30), 0);
  await deleteRecordsBefore(made.settings, { topic: made.events, partition: 0 }, 60);
  const gaps: string[] = [];
  const told = await made.open(rules(), {
    observe: (event) => {
      if (event.kind === 'gap') gaps.push(`${event.gap.kind} ${event.gap.from}-${event.gap.to} ${event.done}`);
    },
  });
  await made.untilRead();
  await vi.waitFor(async () => expect(markOf(await made.published(), 0)?.fromMs).toBeGreaterThanOrEqual(postedMs), WAIT);
  expect(gaps).toEqual(['expired 30-60 fresh']);
  // A pane that began before is not published: some of its records may be among those that are gone.
  const { cells } = await made.published();
  const fromMs = markOf(await made.published(), 0)?.fromMs ?? 0;
  for (const { offset, paneMs } of cells.values()) if (offset > 60) expect(paneMs).toBeGreaterThanOrEqual(fromMs);
  await told.close(10_000);
});

test('a group that was away for longer than a rule looks back goes on at what that needs', async () => {
  rig = await PanesRig.make(1);
  const made = rig;
  const before = await member(made);
  await vi.waitFor(() => expect(reading(before)).toBe(1), WAIT);
  await made.post(eventsNow(30), 0);
  await made.untilRead();
  await before.close(10_000);
  await made.post(eventsNow(30), 0);
  // The look-back of the rules below: window, lateness and pane.
  const short = new TestRules(ruleSet([plainRule()], { paneMs: 1000, latenessMs: 0, reachMs: 1000 }));
  await systemClock.sleep(4000);
  await made.post(eventsNow(30), 0);
  await deleteRecordsBefore(made.settings, { topic: made.events, partition: 0 }, 40);
  const gaps: string[] = [];
  await made.open(short, {
    observe: (event) => {
      if (event.kind === 'gap') gaps.push(`${event.gap.kind} ${event.gap.from}-${event.gap.to} ${event.done}`);
    },
  });
  await vi.waitFor(() => expect(gaps).toEqual([expect.stringMatching(/^expired 30-(60|90) fresh$/)]), WAIT);
});

test('a rule that comes while it runs is counted from the next pane on, and its mark says so', async () => {
  rig = await PanesRig.make(1);
  const made = rig;
  const changing = rules();
  const panes = await made.open(changing);
  await vi.waitFor(() => expect(reading(panes)).toBe(1), WAIT);
  await made.post(eventsNow(10), 0);
  await made.untilRead();
  const changedMs = Date.now();
  const more = [plainRule(), plainRule({ name: 'another', version: 'v2' })];
  changing.change(ruleSet(more, { paneMs: SPANS.paneMs, latenessMs: SPANS.latenessMs }));
  await vi.waitFor(async () => {
    await made.post(eventsNow(10), 0);
    const { cells, marks } = await made.published();
    expect([...cells.values()].some(({ rule }) => rule.name === 'another')).toBe(true);
    expect(marks.at(-1)?.ruleFromMs.get('another')).toBeGreaterThan(changedMs - SPANS.paneMs);
  }, WAIT);
});
