import { systemClock } from '@tailrace/kafka-kit';
import { afterEach, expect, test } from 'vitest';
import { testKills } from '../config.ts';
import { killMember, killMembers, startMember } from '../testing/member.ts';
import { countsOf, PanesRig } from '../testing/panes-rig.ts';
import { steadyTraffic } from '../testing/steady-traffic.ts';

const KILLS = testKills;
const PARTITIONS = 3;
/** So short that most of what was counted is not read again. */
const SPANS = { paneMs: 2000, latenessMs: 4000 };
let rig: PanesRig | undefined;

afterEach(async () => {
  killMembers();
  await rig?.close();
});

test(`killed ${KILLS} times in the middle of panes, every final partial equals a recount, and no commit is lowered`, {
  timeout: 60_000 + KILLS * 30_000,
}, async () => {
  rig = await PanesRig.make(PARTITIONS);
  const made = rig;
  let member = await startMember(made, PARTITIONS, SPANS);
  const stop = steadyTraffic(made, PARTITIONS);
  let committed = [0, 0, 0];
  const isNotLowered = async (): Promise<void> => {
    const now = (await made.lag()).map((each) => each.committed ?? 0);
    for (const [i, each] of now.entries()) expect(each).toBeGreaterThanOrEqual(committed[i] ?? 0);
    committed = now;
  };
  for (let kills = 0; kills < KILLS; kills += 1) {
    // Somewhere in a pane, and between two ticks.
    await systemClock.sleep(700 + ((kills * 731) % SPANS.paneMs));
    await killMember(member);
    await isNotLowered();
    member = await startMember(made, PARTITIONS, SPANS);
    await isNotLowered();
  }
  await stop();
  await made.untilRead();
  const { counts, late } = await made.recount(SPANS);
  expect(late).toBeGreaterThan(0);
  expect(countsOf(await made.published())).toEqual(counts);
});
