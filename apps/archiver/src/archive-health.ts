import type { Check } from '@tailrace/service';
import type { LaneArchiveView } from './lane-archive.ts';

/** `degraded` while a partition can not get its objects into the lake: nothing is lost, they wait on disk. */
export function archiveHealth(views: readonly LaneArchiveView[]): Check {
  const stuck = views.flatMap(({ topic, partition, problem }) =>
    problem === undefined ? [] : [{ where: `${topic}, partition ${partition}`, problem }],
  );
  const [first] = stuck;
  if (first === undefined)
    return { state: 'ok', sentence: `The lake takes in ${views.length} ${views.length === 1 ? 'partition' : 'partitions'}.` };
  const more = stuck.length > 1 ? ` (and ${stuck.length - 1} more)` : '';
  return {
    state: 'degraded',
    sentence: `${first.where}${more} can not be written to the lake now; its records wait on disk: ${first.problem}`,
  };
}
