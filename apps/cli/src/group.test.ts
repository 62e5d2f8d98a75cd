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

async function shown(group: string | undefined): Promise<readonly string[]> {
  let lines: readonly string[] = [];
  await lagCommand(admin, group, {
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
