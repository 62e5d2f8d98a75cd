import { type Clock, reasonsOf } from '@tailrace/kafka-kit';
import { type ChainId, chainText, type KafkaExtents, type OldestLook } from '@tailrace/lake';

/** Where a replay can read. */
export type WindowSource = 'kafka' | 'lake';

/** Since when one partition can be replayed, in ms since 1970. Undefined where a source has no record. */
export interface WindowStart extends ChainId {
  readonly kafkaMs: number | undefined;
  readonly lakeMs: number | undefined;
  /** What lies behind the lake's end and in front of Kafka's start. */
  readonly holeOffsets: number;
}

/** A partition of this process: up to where it is in the lake. */
type Archived = ChainId & { readonly chainEnd: number };

export interface WindowPorts {
  /** The partitions that this process owns now. */
  readonly archived: () => readonly Archived[];
  /** Asks Kafka while `work` runs. */
  readonly withKafka: <T>(work: (kafka: Pick<KafkaExtents, 'logs' | 'firstTimes'>) => Promise<T>) => Promise<T>;
  readonly oldestInLake: (chain: ChainId, from: number) => Promise<OldestLook>;
  readonly clock: Clock;
  readonly warn: (sentence: string) => void;
}

const LOOK_EVERY_MS = 300_000;
/** How soon a partition that came is looked at. */
const TICK_MS = 2000;
/** How soon a look that failed is tried again. */
const AGAIN_MS = 60_000;
/** What could not be looked up again for so long is not told any more. */
const STALE_MS = 3 * LOOK_EVERY_MS;

/**
 * Looks now and then since when this process's partitions can be replayed. A look costs Kafka a few questions and one record of each partition, and the
 * lake a listing, an entry and an object's size of each, however large it is: what lies between is what `replay window` looks at.
 */
export class ReplayWindowWatch {
  readonly #ports: WindowPorts;
  /** By `chainText`, with the time of the look. */
  #starts: ReadonlyMap<string, WindowStart & { readonly atMs: number }> = new Map();
  /** Where the look for a chain's first object goes on. */
  readonly #from = new Map<string, number>();
  #failing = false;

  constructor(ports: WindowPorts) {
    this.#ports = ports;
  }

  /** Of the partitions that this process owns now. */
  starts(): readonly WindowStart[] {
    const oldestMs = this.#ports.clock.nowMs() - STALE_MS;
    return this.#ports.archived().flatMap((chain) => {
      const start = this.#starts.get(chainText(chain));
      return start === undefined || start.atMs < oldestMs ? [] : [start];
    });
  }

  /** Looks until `signal` aborts: every five minutes, and soon after a partition has come. A look that fails is told once, and tried again. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, archived, warn } = this.#ports;
    let nextMs = Number.NEGATIVE_INFINITY;
    let known = '';
    while (!signal.aborted) {
      const owned = archived().map(chainText).sort().join();
      if (owned !== '' && (owned !== known || clock.nowMs() >= nextMs)) {
        try {
          await this.look();
          this.#failing = false;
        } catch (fault) {
          // Safe: what is older than three looks is not told, so nobody is shown an old window for the present one.
          if (!this.#failing) warn(`How far back a replay reaches could not be looked up, and is looked up again: ${reasonsOf(fault)}`);
          this.#failing = true;
        }
        known = owned;
        nextMs = clock.nowMs() + (this.#failing ? AGAIN_MS : LOOK_EVERY_MS);
      }
      await clock.sleep(TICK_MS, signal);
    }
  }

  async look(): Promise<void> {
    const { archived, clock } = this.#ports;
    const owned = archived();
    // Kafka first, and the chains' ends behind it: an end only grows, so one that is below a log's start is below it indeed.
    const { starts, times } = await this.#kafka(owned);
    const ends = new Map(archived().map((chain) => [chainText(chain), chain.chainEnd]));
    const found = new Map<string, WindowStart & { readonly atMs: number }>();
    for (const { topic, incarnation, partition } of owned) {
      const chain = { topic, incarnation, partition };
      const at = chainText(chain);
      const logStart = starts.get(at) ?? 0;
      const holeOffsets = Math.max(0, logStart - (ends.get(at) ?? logStart));
      const [kafkaMs, lakeMs] = [brokerTime(times.get(at)), brokerTime(await this.#lakeMs(chain, at))];
      found.set(at, { ...chain, kafkaMs, lakeMs, holeOffsets, atMs: clock.nowMs() });
    }
    this.#starts = found;
  }

  async #kafka(owned: readonly ChainId[]): Promise<{ starts: ReadonlyMap<string, number>; times: ReadonlyMap<string, number> }> {
    const wanted = new Set(owned.map(chainText));
    return await this.#ports.withKafka(async (kafka) => {
      const logs = (await kafka.logs([...new Set(owned.map(({ topic }) => topic))])).filter((log) => wanted.has(chainText(log)));
      const held = logs.filter(({ logStart, logEnd }) => logStart < logEnd);
      const times = await kafka.firstTimes(held.map((log) => ({ ...log, first: log.logStart })));
      return { starts: new Map(logs.map((log) => [chainText(log), log.logStart])), times };
    });
  }

  async #lakeMs(chain: ChainId, at: string): Promise<number | undefined> {
    const look = await this.#ports.oldestInLake(chain, this.#from.get(at) ?? 0);
    if (look.kind === 'none') return undefined;
    this.#from.set(at, look.kind === 'found' ? look.offset : look.from);
    return look.kind === 'found' ? look.timestampMs : undefined;
  }
}

/** Older than 1970 is no time of a broker. */
function brokerTime(timeMs: number | undefined): number | undefined {
  return timeMs !== undefined && timeMs >= 0 ? timeMs : undefined;
}
