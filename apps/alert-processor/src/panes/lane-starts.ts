import { type ClusterAdmin, isCalendarTime, type Lane, partitionKey, type TimeReader } from '@tailrace/kafka-kit';
import type { RuleSet } from '../rules/rule.ts';

/** Where a lane begins to read, and from when on its panes hold all of their records. */
export interface LaneStart {
  readonly startAt: number;
  readonly fromMs: number;
}

export interface LaneStartPorts {
  readonly reader: Pick<TimeReader, 'firstRecords'>;
  readonly admin: Pick<ClusterAdmin, 'offsetsAtTimes'>;
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Partitions are assigned in one go: their look-ups share requests. */
const GATHER_MS = 10;
/** How far back a record before the commit is looked for where offsets hold none (markers of transactions), step by step. */
const STEPS_BACK = [1, 1000, 1_000_000, Number.POSITIVE_INFINITY] as const;

interface Asked {
  readonly lane: Lane;
  readonly resolve: (start: LaneStart) => void;
  readonly reject: (fault: unknown) => void;
}

/**
 * Where lanes begin (design, section 10): at the first offset whose broker time is at R or later. R = (broker time of the last record before the
 * commit; none left: the log start's) - (pane + lateness). A pane that starts at R or later then has all of its records at or behind that
 * offset, as a pane that an earlier owner published unfinished must have. Where the log begins later than R its start takes the place of R.
 * Why no more time is needed for clocks that step back: docs/decisions/0024-a-lane-goes-back-to-its-open-panes.md.
 */
export class LaneStarts {
  readonly #ports: LaneStartPorts;
  readonly #rewindMs: number;
  #asked: Asked[] = [];
  #running: Promise<void> | undefined;

  constructor(ports: LaneStartPorts, { paneMs, latenessMs }: Pick<RuleSet, 'paneMs' | 'latenessMs'>) {
    this.#ports = ports;
    this.#rewindMs = paneMs + latenessMs;
  }

  /** Of a lane whose commit lies within its log. Rejects when the cluster does not answer. */
  of(lane: Lane & { readonly committed: number }): Promise<LaneStart> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ lane, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    while (this.#asked.length > 0) {
      await this.#ports.sleep(GATHER_MS);
      const asked = this.#asked.splice(0);
      try {
        const starts = await this.#look(asked.map(({ lane }) => lane));
        for (const { lane, resolve, reject } of asked) {
          const start = starts.get(partitionKey(lane));
          if (start === undefined) reject(new Error(`nothing is known of ${lane.topic}, partition ${lane.partition}`));
          else resolve(start);
        }
      } catch (fault) {
        for (const { reject } of asked) reject(fault);
      }
    }
    this.#running = undefined;
  }

  async #look(lanes: readonly Lane[]): Promise<ReadonlyMap<string, LaneStart>> {
    const { admin, reader, nowMs } = this.#ports;
    const begunMs = nowMs();
    const times = await this.#timesBeforeCommit(lanes);
    const dated = lanes.flatMap((lane) => {
      const timeMs = times.get(partitionKey(lane));
      return timeMs === undefined ? [] : [{ lane, rewindToMs: timeMs - this.#rewindMs }];
    });
    const offsets = await admin.offsetsAtTimes(
      dated.map(({ lane: { topic, partition }, rewindToMs }) => ({ topic, partition, timeMs: Math.max(0, rewindToMs) })),
    );
    const starts = new Map<string, LaneStart>();
    // An empty log: what was in it, if anything, is older than this look.
    for (const lane of lanes) starts.set(partitionKey(lane), { startAt: lane.committed ?? 0, fromMs: lane.logEnd === 0 ? 0 : begunMs });
    const cut: Lane[] = [];
    for (const [i, { lane, rewindToMs }] of dated.entries()) {
      const startAt = Math.min(offsets[i]?.offset ?? Number.POSITIVE_INFINITY, lane.committed ?? 0);
      starts.set(partitionKey(lane), { startAt: Math.max(startAt, lane.logStart), fromMs: rewindToMs });
      if (startAt <= lane.logStart && lane.logStart > 0) cut.push(lane);
    }
    const firsts = await reader.firstRecords(cut.map(({ topic, partition, logStart }) => ({ topic, partition, first: logStart })));
    for (const lane of cut) {
      const key = partitionKey(lane);
      const fromMs = Math.max(starts.get(key)?.fromMs ?? 0, firsts.get(key)?.timestampMs ?? begunMs);
      starts.set(key, { startAt: lane.logStart, fromMs });
    }
    return starts;
  }

  /** By partition the broker time of the last record before the commit, or of one before it; of the first one of all where none is left. */
  async #timesBeforeCommit(lanes: readonly Lane[]): Promise<ReadonlyMap<string, number>> {
    const times = new Map<string, number>();
    // Without any record there is nothing to wait for.
    let open = lanes.filter(({ logStart, logEnd }) => logEnd > logStart);
    for (const back of STEPS_BACK) {
      if (open.length === 0) break;
      const firstOf = ({ logStart, committed }: Lane) => Math.max(logStart, (committed ?? 0) - back);
      const found = await this.#ports.reader.firstRecords(
        open.map((lane) => ({ topic: lane.topic, partition: lane.partition, first: firstOf(lane) })),
      );
      open = open.filter((lane) => {
        const record = found.get(partitionKey(lane));
        const before = record !== undefined && record.offset < (lane.committed ?? 0);
        // What is no time of a calendar says nothing: the lane then counts from now on.
        if (record !== undefined && isCalendarTime(record.timestampMs) && (before || firstOf(lane) === lane.logStart))
          times.set(partitionKey(lane), record.timestampMs);
        return !before && firstOf(lane) > lane.logStart;
      });
    }
    return times;
  }
}
