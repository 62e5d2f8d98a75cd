import { type Batch, type Gap, type Lane, type Outcome, partitionKey, type Sink, type TopicPartition } from '@tailrace/kafka-kit';
import { type ChainId, openChain } from '@tailrace/lake';
import { Abandoned, TopicMadeAnew, UndeclaredGap } from './faults.ts';
import { LaneArchive, type LaneArchiveView } from './lane-archive.ts';
import type { RotationLimits } from './rotation.ts';
import type { ArchivePorts } from './store-object.ts';

export interface ArchiveSinkOptions {
  readonly rotation: RotationLimits;
  /** An object that took in nothing for so long is closed. */
  readonly idleMs: number;
}

/** Looks for idle objects this often within their idle time. */
const IDLE_LOOKS = 4;
const MIN_LOOK_MS = 50;

/**
 * Writes records into the lake. The chain in the ledger is its position: what Kafka has as the group's commit is for lag tools. It
 * answers only `stored`, or throws: every record is a row, also one that no parser understands.
 */
export class ArchiveSink implements Sink {
  readonly name = 'lake';
  readonly #ports: ArchivePorts;
  readonly #options: ArchiveSinkOptions;
  readonly #lanes = new Map<string, LaneArchive>();
  /** Which life of its topic each partition was first seen with, by this process. */
  readonly #incarnations = new Map<string, string>();
  /** Counts assignments, so that a slow one does not take the place of a later one. */
  readonly #assignments = new Map<string, number>();
  readonly #idleTimer: NodeJS.Timeout;

  constructor(ports: ArchivePorts, options: ArchiveSinkOptions) {
    this.#ports = ports;
    this.#options = options;
    // By the clock: an object must be closed also when nothing new ever arrives.
    this.#idleTimer = setInterval(() => this.#closeIdle(), Math.max(MIN_LOOK_MS, options.idleMs / IDLE_LOOKS));
  }

  views(): LaneArchiveView[] {
    return [...this.#lanes.values()].map((lane) => lane.view());
  }

  async assign(lane: Lane): Promise<{ readonly startAt: number }> {
    const key = partitionKey(lane);
    const chain: ChainId = { topic: lane.topic, incarnation: lane.incarnation, partition: lane.partition };
    const known = this.#incarnations.get(key) ?? lane.incarnation;
    if (known !== lane.incarnation) throw new TopicMadeAnew({ ...chain, incarnation: known }, lane.incarnation);
    const assignment = (this.#assignments.get(key) ?? 0) + 1;
    this.#assignments.set(key, assignment);
    await this.#lanes.get(key)?.discard(new Abandoned(chain, 'the partition is opened again'));
    const { end, repair } = await openChain(this.#ports.repair, chain, { start: lane.logStart, hint: lane.committed });
    if (this.#assignments.get(key) !== assignment) throw new Abandoned(chain, 'the partition was assigned again meanwhile');
    if (repair !== undefined) {
      const { first, next } = repair.entry;
      this.#ports.observe({ kind: 'claim-checked', chain, first, next, repair: repair.how });
    }
    this.#ports.observe({ kind: 'chain-opened', chain, end });
    this.#incarnations.set(key, lane.incarnation);
    this.#lanes.set(key, new LaneArchive(this.#ports, this.#options.rotation, chain, end));
    return { startAt: end };
  }

  async gap(lane: Lane, { kind, from, to }: Gap): Promise<void> {
    // The runtime halts before every other kind; a new one must not be passed over.
    if (kind !== 'void') throw new UndeclaredGap(lane, kind, from, to);
    await this.#laneOf(lane).passVoid({ first: from, next: to });
  }

  async write(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    return await this.#laneOf(batch.source).write(batch, signal);
  }

  #laneOf(source: ChainId): LaneArchive {
    const lane = this.#lanes.get(partitionKey(source));
    if (lane === undefined || lane.chain.incarnation !== source.incarnation) throw new Abandoned(source, 'the partition is not open here');
    return lane;
  }

  async flush(why: 'revoke' | 'stop', lanes: readonly TopicPartition[]): Promise<void> {
    const flushed = await Promise.allSettled(
      lanes.map(async (tp) => {
        const lane = this.#lanes.get(partitionKey(tp));
        if (lane === undefined) return;
        if (why === 'stop') await lane.finish();
        else await lane.giveUp();
        this.#lanes.delete(partitionKey(tp));
      }),
    );
    const failed = flushed.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    if (failed.length > 0) throw new AggregateError(failed, 'some partitions could not be flushed');
  }

  async close(): Promise<void> {
    clearInterval(this.#idleTimer);
    for (const lane of this.#lanes.values()) await lane.discard(new Abandoned(lane.chain, 'the archiver stops'));
    this.#lanes.clear();
  }

  #closeIdle(): void {
    for (const lane of this.#lanes.values()) lane.closeIdle(this.#options.idleMs);
  }
}
