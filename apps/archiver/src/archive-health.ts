import type { Check } from '@tailrace/service';
import type { Step } from './archive-events.ts';
import type { LaneArchiveView, LaneOpening } from './lane-archive-view.ts';

/** Files are built one at a time: an object of a busy archiver waits its turn for some seconds, and none for so long. */
const LONG_WAIT_MS = 60_000;

/** An attempt that takes longer is told before the client gives it up: that allows a large object minutes. */
const LONG_ATTEMPT_MS = 10_000;

/** The steps that ask Kafka: while one of them waits nothing is wrong with the lake. */
const ASKS_KAFKA: ReadonlySet<Step> = new Set<Step>(['look up the topic', 'read the void again', 'look up the log’s start']);

/** The servers, as a person knows them, with their addresses. */
export interface ArchiveServers {
  readonly kafka: string;
  readonly lake: string;
}

interface Stuck {
  readonly where: string;
  /** The step that does not get on; undefined where it is none of them. */
  readonly step: Step | undefined;
  readonly problem: string;
}

function stuckOf(view: LaneArchiveView): Stuck | undefined {
  const { problem, failedStep, waitingMs, attempt } = view;
  const where = `${view.topic}, partition ${view.partition}`;
  if (problem !== undefined) return { where, step: failedStep, problem };
  if (attempt !== undefined && attempt.step !== 'build the file' && attempt.forMs >= LONG_ATTEMPT_MS)
    return { where, step: attempt.step, problem: `to ${attempt.step} has had no answer for ${Math.floor(attempt.forMs / 1000)} s` };
  if (waitingMs < LONG_WAIT_MS) return undefined;
  return { where, step: undefined, problem: `nothing has failed, but an object has been waiting for ${Math.floor(waitingMs / 1000)} s` };
}

/** `degraded` while a partition can not get its objects into the lake: nothing is lost as long as Kafka keeps its records. */
export function archiveHealth(views: readonly LaneArchiveView[], openings: readonly LaneOpening[], servers: ArchiveServers): Check {
  const slow = openings.filter(({ forMs }) => forMs >= LONG_ATTEMPT_MS);
  const opening = slow.map(
    (each): Stuck => ({
      where: `${each.topic}, partition ${each.partition}`,
      step: 'write to the store',
      problem: `its chain in the ledger could not be opened for ${Math.floor(each.forMs / 1000)} s`,
    }),
  );
  const stuck = [...views.flatMap((view) => stuckOf(view) ?? []), ...opening];
  const [first] = stuck;
  if (first === undefined)
    return { state: 'ok', sentence: `The lake takes in ${views.length} ${views.length === 1 ? 'partition' : 'partitions'}.` };
  const more = stuck.length > 1 ? ` (and ${stuck.length - 1} more)` : '';
  return {
    state: 'degraded',
    sentence: `${first.where}${more} ${waitsFor(first.step, servers)}; Kafka keeps its records until they are in the lake: ${first.problem}`,
  };
}

function waitsFor(step: Step | undefined, { kafka, lake }: ArchiveServers): string {
  if (step !== undefined && ASKS_KAFKA.has(step)) return `waits for ${kafka}`;
  return step === 'write to the store' ? `can not be written to the lake (${lake}) now` : 'can not be written to the lake now';
}
