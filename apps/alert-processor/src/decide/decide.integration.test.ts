import type { ServerResponse } from 'node:http';
import { afterEach, expect, test, vi } from 'vitest';
import { DecideRig, PANE_MS, WINDOW_MS } from '../testing/decide-rig.ts';
import { killMember, killMembers } from '../testing/member.ts';
import { isPending } from './episodes.ts';
import { incidentKey } from './subject.ts';

const RULE = 'events-by-service';
const GROUP = JSON.stringify(['shop']);
let rig: DecideRig | undefined;

afterEach(async () => {
  killMembers();
  await rig?.close();
});

const soon = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 50 });

const ok = (response: ServerResponse) => void response.writeHead(200).end();

/** The pane of now: to be asked for once a member runs, which begins with what rules reach from its start on. */
function paneNow(): number {
  return Math.floor(Date.now() / PANE_MS) * PANE_MS;
}

/**
 * Marks as the counting stage does, again and again, until every owner has written that it has decided so far: it writes with a commit, and that needs
 * another message behind the one that it decided by.
 */
async function decidedUpTo(made: DecideRig, ms: number): Promise<void> {
  await soon(async () => {
    await made.mark(ms);
    expect(new Set(await made.watermarks())).toEqual(new Set([ms]));
  });
}

test('killed between pending and sent it tells again under the same key; an episode goes on through restarts, and is resolved once', async () => {
  let answers = false;
  rig = await DecideRig.make(1, (response) => (answers ? ok(response) : undefined));
  const made = rig;
  let member = await made.start(1);
  const pane = paneNow();
  const firing = `${incidentKey(RULE, GROUP, pane + PANE_MS - WINDOW_MS)}/firing`;
  const resolved = firing.replace(/firing$/, 'resolved');
  await made.mark(pane);
  await made.count('shop', pane, 6);
  await soon(() => expect(made.keys).toEqual([firing]));
  // Without it the next owner begins by its own clock, and that may be far behind the test's.
  await decidedUpTo(made, pane);
  expect((await made.alerts()).map(({ state, transitions }) => [state, transitions[0]?.sends[0]?.status])).toEqual([['firing', 'pending']]);
  await killMember(member);

  answers = true;
  member = await made.start(1);
  await soon(() => expect(made.keys).toEqual([firing, firing]));
  expect(made.receiver.received[1]?.body).toBe(made.receiver.received[0]?.body);
  await soon(async () => expect((await made.alerts())[0]?.transitions[0]?.sends[0]?.status).toBe('sent'));
  await killMember(member);

  member = await made.start(1);
  await made.count('shop', pane + PANE_MS, 9);
  await decidedUpTo(made, pane + 3 * PANE_MS);
  expect(made.keys).toEqual([firing, firing]);
  await made.mark(pane + WINDOW_MS + 3 * PANE_MS);
  await soon(() => expect(made.keys).toEqual([firing, firing, resolved]));
  await killMember(member);
  await made.start(1);
  await decidedUpTo(made, pane + WINDOW_MS + 4 * PANE_MS);
  expect(made.keys).toEqual([firing, firing, resolved]);
});

test('a second member takes partitions over, and all when the first is killed: each incident is told once', async () => {
  rig = await DecideRig.make(3, ok);
  const made = rig;
  const services = Array.from({ length: 12 }, (_, n) => `service-${n}`);
  const first = await made.start(3);
  const pane = paneNow();
  const keyOf = (service: string) => `${incidentKey(RULE, JSON.stringify([service]), pane + PANE_MS - WINDOW_MS)}/firing`;
  const expected = services.map(keyOf).sort();
  await decidedUpTo(made, pane);
  for (const service of services.slice(0, 4)) await made.count(service, pane, 6);
  await soon(() => expect([...made.keys].sort()).toEqual(services.slice(0, 4).map(keyOf).sort()));
  await made.start(1);
  for (const service of services.slice(4, 8)) await made.count(service, pane, 6);
  await soon(() => expect(made.keys).toHaveLength(8));
  // What is pending when a member dies is sent again, and that is another test.
  await soon(async () => expect((await made.alerts()).flatMap(({ transitions }) => transitions).filter(isPending)).toEqual([]));
  await killMember(first);
  for (const service of services.slice(8)) await made.count(service, pane, 6);
  // Read again from the begin, as a stage 1 that went back would write it.
  for (const service of services) await made.count(service, pane, 7);
  await soon(() => expect(new Set(made.keys)).toEqual(new Set(expected)));
  await decidedUpTo(made, pane + PANE_MS);
  expect([...made.keys].sort()).toEqual(expected);
});

test('under a silence nobody is told; taken back, what still fires is told', async () => {
  rig = await DecideRig.make(1, ok);
  const made = rig;
  await made.start(1);
  const pane = paneNow();
  const silence = { id: 's1', rule: RULE, group: GROUP, fromMs: pane - 60_000, comment: 'planned work' };
  await made.mark(pane);
  await made.send({ kind: 'silence', silence: { ...silence, untilMs: pane + 3_600_000 } });
  await made.count('shop', pane, 6);
  await made.count('web', pane, 6);
  await soon(async () => {
    const silenced = (await made.alerts()).find(({ group }) => group === GROUP);
    expect(silenced?.transitions.map(({ silencedBy, sends }) => [silencedBy, sends])).toEqual([['s1', []]]);
  });
  await soon(() => expect(made.keys).toHaveLength(1));
  expect(made.keys[0]).not.toContain(incidentKey(RULE, GROUP, pane + PANE_MS - WINDOW_MS));
  await made.send({ kind: 'silence', silence: { ...silence, untilMs: silence.fromMs } });
  await soon(() => expect(made.keys.slice(1)).toEqual([`${incidentKey(RULE, GROUP, pane + PANE_MS - WINDOW_MS)}/firing`]));
});

test('a member that was stopped while another took its partition over tells nothing when it goes on', async () => {
  rig = await DecideRig.make(1, ok);
  const made = rig;
  const stopped = await made.start(1);
  const pane = paneNow();
  await decidedUpTo(made, pane);
  // It waits at the broker for just this record, and gets it when it goes on.
  stopped.kill('SIGSTOP');
  await made.count('shop', pane, 6);
  await made.start(1);
  await soon(() => expect(made.keys).toHaveLength(1));
  stopped.kill('SIGCONT');
  await made.count('web', pane, 6);
  await decidedUpTo(made, pane + PANE_MS);
  expect(new Set(made.keys).size).toBe(2);
  expect(made.keys).toHaveLength(2);
});
