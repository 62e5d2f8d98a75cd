import { expect, it } from 'vitest';
import { lagCommand } from './group.ts';

const TOPIC = 'service-events';
const row = { topic: TOPIC, partition: 0, logStart: 0, logEnd: 7 };
/** What Kafka answers: for a name that it does not know, partitions without a commit. */
const admin = {
  groupLag: async (group: string) => [
    group === 'indexer' || group === 'somebody' ? { ...row, committed: 5, lag: 2 } : { ...row, committed: null, lag: 7 },
  ],
};

let code = 0;

async function shown(group: string | undefined, asked: Parameters<typeof lagCommand>[0] = admin): Promise<readonly string[]> {
  let lines: readonly string[] = [];
  code = await lagCommand(asked, group, {
    result: (_, given) => {
      lines = given;
    },
  });
  return lines;
}

it('a group that nobody knows is refused with those that there are, not shown as far behind', async () => {
  await expect(shown('indexr')).rejects.toThrow(/no group indexr that reads service-events: name one of .*indexer, archiver/);
});

it('a group that nothing runs in this release is not shown as far behind', async () => {
  await expect(shown('alert-processor')).rejects.toThrow(
    /Nothing runs the group alert-processor in this release: name one of indexer, archiver/,
  );
});

it('a declared group without a commit is shown as such, a group of somebody else’s with commits as it is', async () => {
  expect(await shown('archiver')).toEqual(['archiver: no commits yet (7 records in the log)']);
  expect((await shown('somebody'))[0]).toBe('somebody: 2 records behind');
  expect((await shown(undefined)).filter((line) => !line.startsWith(' '))).toEqual([
    'indexer: 2 records behind',
    'archiver: no commits yet (7 records in the log)',
  ]);
});

it('a group that stands before what Kafka no longer holds is a finding, with the exact range and the command that ends it', async () => {
  const rows = [
    { ...row, logStart: 3, committed: 1, lag: 6 },
    { ...row, partition: 1, logStart: 3, committed: 2, lag: 5 },
    { ...row, partition: 2, committed: 9, lag: 0 },
    { ...row, partition: 3, committed: 7, lag: 0 },
    { ...row, partition: 4, logStart: 5, committed: null, lag: 2 },
  ];
  const lines = await shown('indexer', { groupLag: async () => rows });
  expect(code).toBe(1);
  const reset = (partition: number, to: string): string =>
    `stop the group, run: tailrace group reset --group indexer --topic service-events --partition ${partition} --to ${to}, and start it.`;
  expect(lines.filter((line) => line.startsWith('    '))).toEqual([
    `    expired: Group indexer needs offsets 1 to 2 of service-events, partition 0, which Kafka no longer holds; to pass them, ${reset(0, 'earliest')}`,
    `    expired: Group indexer needs offset 2 of service-events, partition 1, which Kafka no longer holds; to pass them, ${reset(1, 'earliest')}`,
    `    truncated: Group indexer stands at offset 9 of service-events, partition 2, but the log ends at 7; to go on behind the end, ${reset(2, 'latest')}`,
  ]);
});

it('the commit of a group whose position is in the lake is no finding', async () => {
  await shown('archiver', { groupLag: async () => [{ ...row, logStart: 3, committed: 1, lag: 6 }] });
  expect(code).toBe(0);
});
