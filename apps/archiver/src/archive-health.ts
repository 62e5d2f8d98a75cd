import type { Check } from '@tailrace/service';
import type { LaneArchiveView, LaneOpening } from './lane-archive-view.ts';

/** Files are built one at a time: an object of a busy archiver waits its turn for some seconds, and none for so long. */
const LONG_WAIT_MS = 60_000;

/** An attempt that takes longer is told before the client gives it up: that allows a large object minutes. */
const LONG_ATTEMPT_MS = 10_000;

function problemOf({ problem, waitingMs, attempt }: LaneArchiveView): string | undefined {
  if (problem !== undefined) return problem;
  if (attempt !== undefined && attempt.step !== 'build the file' && attempt.forMs >= LONG_ATTEMPT_MS)
    return `to ${attempt.step} has had no answer for ${Math.floor(attempt.forMs / 1000)} s`;
  if (waitingMs < LONG_WAIT_MS) return undefined;
  return `nothing has failed, but an object has been waiting for ${Math.floor(waitingMs / 1000)} s`;
}

/** `degraded` while a partition can not get its objects into the lake: nothing is lost as long as Kafka keeps its records. */
export function archiveHealth(views: readonly LaneArchiveView[], openings: readonly LaneOpening[] = []): Check {
  const slow = openings.filter(({ forMs }) => forMs >= LONG_ATTEMPT_MS);
  const opening = slow.map((each) => ({
    where: `${each.topic}, partition ${each.partition}`,
    problem: `its chain in the ledger could not be opened for ${Math.floor(each.forMs / 1000)} s`,
  }));
  const written = views.flatMap((view) => {
    const problem = problemOf(view);
    return problem === undefined ? [] : [{ where: `${view.topic}, partition ${view.partition}`, problem }];
  });
  const stuck = [...written, ...opening];
  const [first] = stuck;
  if (first === undefined)
    return { state: 'ok', sentence: `The lake takes in ${views.length} ${views.length === 1 ? 'partition' : 'partitions'}.` };
  const more = stuck.length > 1 ? ` (and ${stuck.length - 1} more)` : '';
  return {
    state: 'degraded',
    sentence: `${first.where}${more} can not be written to the lake now; Kafka keeps its records until they are: ${first.problem}`,
  };
}
