import { describe, expect, test } from 'vitest';
import { Cluster } from '../src/cluster/cluster.ts';
import type { GroupName, Member } from '../src/cluster/member.ts';
import { scenarioConfig } from '../src/config.ts';
import { kafkaSettings } from '../src/pipeline/endpoints.ts';
import { report } from '../src/report.ts';
import { Feed } from '../src/torture/feed.ts';
import { GROUPS } from '../src/torture/plan.ts';
import { judge } from '../src/torture/verdict.ts';

const RECORDS_PER_SECOND = 500;

/** Members of a group come and go in each way that there is; after each step every partition has one owner again. */
async function comeAndGo(cluster: Cluster, group: GroupName, count: number): Promise<void> {
  const members: Member[] = [];
  const step = async (what: string, work: () => Promise<void>): Promise<void> => {
    const begunMs = performance.now();
    await work();
    await cluster.settled(group, members);
    report(`${count} members of ${group}: ${what}, settled after ${((performance.now() - begunMs) / 1000).toFixed(1)} s`);
  };
  const join = async (): Promise<void> => {
    members.push(cluster.join(group));
  };
  const first = (): Member => {
    const [member] = members;
    if (member === undefined) throw new Error('there is a member');
    return member;
  };
  for (let i = 1; i <= count; i++) await step(`${i} joined`, join);
  await step('one left (SIGTERM)', async () => {
    const leaver = first();
    members.shift();
    expect(await leaver.leave(), `exit code of ${leaver.name}`).toBe(0);
  });
  await step('another one came', join);
  await step('one was killed (SIGKILL)', async () => {
    await first().kill();
    members.shift();
  });
  await step('another one came', join);
  const zombie = first();
  await step('one stood still (SIGSTOP) beyond its session', async () => {
    zombie.hold();
    members.shift();
  });
  await step('and went on (SIGCONT)', async () => {
    zombie.release();
    members.push(zombie);
  });
  expect(members.filter(({ running }) => !running).map(({ name }) => `${name} has ended by itself`)).toEqual([]);
}

describe.skipIf(scenarioConfig.short)('members that join, leave, die, stand still and go on', () => {
  test.for([2, 3])('%i of each group: every record is once in lake and index, and in order', async (count) => {
    const { seed } = scenarioConfig;
    const cluster = await Cluster.start({ brokers: 1, jit: 'fast-start' });
    try {
      const feed = await Feed.start(kafkaSettings(cluster.endpoints), seed);
      const pause = feed.steadily(RECORDS_PER_SECOND);
      try {
        await Promise.all(GROUPS.map((group) => comeAndGo(cluster, group, count)));
      } finally {
        pause();
        await feed.stop();
      }
      const { census, findings } = await judge(cluster, feed.allowed, report);
      report(
        `${count} members: ${census.records} records, ${census.documents} documents, ${census.rows} rows in ${census.objects} objects`,
      );
      expect([...feed.faults]).toEqual([]);
      expect(findings).toEqual([]);
    } finally {
      await cluster.stop();
    }
  });
});
