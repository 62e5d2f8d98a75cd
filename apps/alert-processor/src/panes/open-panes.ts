import { connectTimeReader, DEFAULT_BACKOFF, partitionKey, systemClock } from '@tailrace/kafka-kit';
import { openStage, type Stage, type StageOptions } from '../stages/open-stage.ts';
import { LaneStarts } from './lane-starts.ts';
import type { LeftOut } from './left-out.ts';
import { PanesSink } from './panes-sink.ts';
import { PartialsTopic } from './partials-topic.ts';

export interface OpenPanesOptions extends StageOptions {
  readonly topics: readonly string[];
  readonly onRetry: (records: number) => void;
  readonly onPublished: (cells: number, leftOut: readonly LeftOut[]) => void;
}

/** Stage 1 as it runs. */
export type Panes = Stage<PanesSink>;

const MIB = 1024 * 1024;
/** Records wait for others no longer than this: it counts into the time to an alert. */
const BATCH_AGE_MS = 50;

/** Joins the group and counts. Rejects when the cluster can not be reached; what was opened is closed then. */
export function openPanes(options: OpenPanesOptions): Promise<Panes> {
  const { kafka, group, topics, partialsTopic, log, rules, nowMs, onPublished } = options;
  return openStage(options, async ({ admin, publisher, partitions, onFault, keep }) => {
    const reader = keep(await connectTimeReader(kafka, group), (each) => each.close());
    const partials = new PartialsTopic({
      topic: partialsTopic,
      partitions,
      publisher,
      backoff: DEFAULT_BACKOFF,
      sleep: systemClock.sleep,
      onRetry(records, reason) {
        options.onRetry(records);
        log.warn(`${records} records of ${partialsTopic} are not acknowledged, and are written again: ${reason}`);
      },
    });
    const sink = new PanesSink(rules.current, {
      starts: new LaneStarts({ reader, admin, nowMs, sleep: systemClock.sleep }, rules.current),
      partials,
      admin,
      firstTime: async ({ topic, partition }, first) =>
        (await reader.firstTimes([{ topic, partition, first }])).get(partitionKey({ topic, partition })),
      nowMs,
      onPublished,
      onFault,
    });
    return {
      sink,
      topics,
      gaps: {
        kind: 'fresh-first',
        async freshFrom(partition) {
          const { reachMs, latenessMs, paneMs } = rules.current;
          const [found] = await admin.offsetsAtTimes([{ ...partition, timeMs: nowMs() - reachMs - latenessMs - paneMs }]);
          return found?.offset;
        },
      },
      batch: { maxRecords: 1000, maxBytes: MIB, maxAgeMs: BATCH_AGE_MS },
      // A batch is answered a tick later: until then the lane goes on.
      inFlightPerLane: 64,
    };
  });
}
