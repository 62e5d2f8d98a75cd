import { type Batch, type Gap, type Lane, type Outcome, partitionKey, type Sink, type TopicPartition } from '@tailrace/kafka-kit';
import { type ChainId, chainText, endOtherLives, type OffsetRange, openChain, type Repair } from '@tailrace/lake';
import type { ArchivePorts } from './archive-ports.ts';
import { Abandoned, UndeclaredGap } from './faults.ts';
import { LaneArchive } from './lane-archive.ts';
import type { LaneArchiveView, LaneOpening } from './lane-archive-view.ts';
import type { RotationLimits } from './rotation.ts';

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
  /** The chains before whose opening those of the topic's other lives were ended, by this process. */
  readonly #othersEnded = new Set<string>();
  readonly #openings = new Map<Lane, number>();
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

  /** The partitions whose chain is being opened, and for how long. */
  openings(): LaneOpening[] {
    const nowMs = this.#ports.clock.nowMs();
    return [...this.#openings].map(([{ topic, partition }, sinceMs]) => ({ topic, partition, forMs: nowMs - sinceMs }));
  }

  async assign(lane: Lane): Promise<{ readonly startAt: number }> {
    this.#openings.set(lane, this.#ports.clock.nowMs());
    try {
      return await this.#open(lane);
    } finally {
      this.#openings.delete(lane);
    }
  }

  async #open(lane: Lane): Promise<{ readonly startAt: number }> {
    const key = partitionKey(lane);
    const chain = idOf(lane);
    const assignment = (this.#assignments.get(key) ?? 0) + 1;
    this.#assignments.set(key, assignment);
    const before = this.#lanes.get(key);
    // Nobody may have said up to where its records are the old topic's: then it is as far as its own look-ups went.
    if (before !== undefined && !before.isOver && before.chain.incarnation !== lane.incarnation) await before.endLife(0);
    await before?.discard(new Abandoned(chain, 'the partition is opened again'));
    await this.#endOtherLives(chain);
    const { end, repair } = await openChain(this.#ports.repair, chain, { start: lane.logStart, hint: lane.committed });
    if (this.#assignments.get(key) !== assignment) throw new Abandoned(chain, 'the partition was assigned again meanwhile');
    if (repair !== undefined) this.#checked(chain, repair.entry, repair.how);
    this.#ports.observe({ kind: 'chain-opened', chain, end });
    this.#lanes.set(key, new LaneArchive(this.#ports, this.#options.rotation, chain, end));
    return { startAt: end };
  }

  async gap(lane: Lane, { kind, from, to }: Gap): Promise<void> {
    switch (kind) {
      case 'void':
        return await this.#laneOf(lane).passVoid({ first: from, next: to });
      case 'expired':
        return await this.#laneOf(lane).passLost({ first: from, next: to });
      case 'recreated':
        return await this.#recreated(lane, from);
      case 'truncated':
        // The runtime halts before it.
        throw new UndeclaredGap(lane, kind, from, to);
    }
  }

  async #recreated(chain: ChainId, provenEnd: number): Promise<void> {
    const open = this.#lanes.get(partitionKey(chain));
    if (open !== undefined && open.chain.incarnation === chain.incarnation) await open.endLife(provenEnd);
    else {
      // Not open here: nothing of the old topic is held, and its chain is ended when the new one is opened.
      const last = await this.#ports.repair.ledger.last(idOf(chain), null);
      this.#ports.observe({ kind: 'topic-made-anew', chain: idOf(chain), end: last?.next ?? 0, cutRows: 0 });
    }
  }

  /** Once per chain and process: an archiver that did not know yet may have claimed something since the last time. */
  async #endOtherLives(chain: ChainId): Promise<void> {
    if (this.#othersEnded.has(chainText(chain))) return;
    for (const ended of await endOtherLives(this.#ports.repair, chain)) this.#checked(ended.chain, ended.entry, ended.how);
    this.#othersEnded.add(chainText(chain));
  }

  #checked(chain: ChainId, { first, next }: OffsetRange, repair: Repair): void {
    this.#ports.observe({ kind: 'claim-checked', chain, first, next, repair });
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

function idOf({ topic, incarnation, partition }: ChainId): ChainId {
  return { topic, incarnation, partition };
}
