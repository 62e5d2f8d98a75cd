import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { firstTimes } from '@tailrace/kafka-kit';
import { Cluster } from '../cluster/cluster.ts';
import type { Member } from '../cluster/member.ts';
import { until } from '../machine/until.ts';
import { kafkaSettings, TOPIC } from '../pipeline/endpoints.ts';
import { Traffic } from '../traffic/traffic.ts';
import { type ParserName, writeParsers } from './parsers.ts';

export interface StageOptions {
  readonly brokers: 1 | 3;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
}

const CAUGHT_UP_MS = 120_000;
const GROUPS = ['indexer', 'archiver'] as const;

/** Where each group stands on each partition, as text: `indexer 3` is at an offset. */
export type Positions = ReadonlyMap<string, number>;

/** The whole system with traffic through its gateway, and an indexer whose parser can be changed. */
export class Stage {
  readonly cluster: Cluster;
  readonly report: (line: string) => void;
  readonly #gateway: Member;
  readonly #parser: ReturnType<typeof writeParsers>;
  readonly #seed: number;
  readonly #traffics: Traffic[] = [];
  #indexer: Member;

  private constructor(cluster: Cluster, { seed, report }: StageOptions) {
    const folder = join(cluster.stack.folder, 'parsers');
    mkdirSync(folder);
    this.cluster = cluster;
    this.report = report;
    this.#seed = seed;
    this.#parser = writeParsers(folder);
    this.#gateway = cluster.join('ingest-gateway');
    this.#indexer = cluster.join('indexer', this.#parser('good'));
    // Several objects for each partition of a window, so that lake and Kafka meet inside of it.
    cluster.join('archiver', { ARCHIVER_MAX_RECORD_TIME_MS: '2000' });
  }

  static async open(options: StageOptions): Promise<Stage> {
    const { brokers, signal, report } = options;
    const cluster = await Cluster.start({ brokers, jit: 'fast-start', signal, report });
    try {
      const stage = new Stage(cluster, options);
      await stage.#gateway.ready();
      await Promise.all(GROUPS.map((group) => cluster.settled(group)));
      return stage;
    } catch (failed) {
      await cluster.stop();
      throw failed;
    }
  }

  /** Every number that was accepted so far. */
  get accepted(): readonly number[] {
    return this.#traffics.flatMap(({ fates }) => [...fates.numbers].filter((number) => fates.allowed(number).least > 0));
  }

  /** Has events flow. */
  startTraffic(): Traffic {
    const first = this.#traffics.at(-1)?.next ?? 1;
    const traffic = new Traffic({ gatewayUrl: () => this.#gateway.gatewayUrl, seed: this.#seed + first, first });
    this.#traffics.push(traffic);
    return traffic;
  }

  /** Stops the indexer in order. */
  async stopIndexer(): Promise<void> {
    const code = await this.#indexer.leave();
    if (code !== 0) throw new Error(`${this.#indexer.name} ended with ${code}`);
  }

  /** Starts one with this parser, and waits until it has its partitions. */
  async startIndexer(parser: ParserName): Promise<void> {
    this.#indexer = this.cluster.join('indexer', this.#parser(parser));
    await this.cluster.settled('indexer');
  }

  async positions(): Promise<Positions> {
    const { admin } = this.cluster;
    const all = await Promise.all(
      GROUPS.map(async (group) =>
        (await admin.groupLag(group, [TOPIC])).map(({ partition, committed }) => [`${group} ${partition}`, committed ?? -1] as const),
      ),
    );
    return new Map(all.flat());
  }

  /** Where each partition's log begins and ends. */
  async logs(): Promise<
    readonly { readonly partition: number; readonly logStart: number; readonly logEnd: number; readonly indexed: number }[]
  > {
    return (await this.cluster.admin.groupLag('indexer', [TOPIC])).map(({ committed, ...log }) => ({ ...log, indexed: committed ?? 0 }));
  }

  /** The broker time of the oldest record that a stopped indexer has not indexed: the next one begins there. */
  async oldestNotIndexedMs(): Promise<number> {
    const positions = (await this.logs()).filter(({ indexed, logEnd }) => indexed < logEnd);
    const first = positions.map(({ partition, indexed }) => ({ topic: TOPIC, partition, first: indexed }));
    const times = await firstTimes(kafkaSettings(this.cluster.endpoints), 'tailrace-e2e', first);
    return Math.min(Date.now(), ...times.values());
  }

  /** Waits until both groups have committed everything up to these ends: those of now where they are not given. */
  async caughtUp(ends?: ReadonlyMap<number, number>): Promise<void> {
    const wanted = ends ?? new Map((await this.logs()).map(({ partition, logEnd }) => [partition, logEnd]));
    await until('both groups at the log’s ends', CAUGHT_UP_MS, async () => {
      const positions = await this.positions();
      for (const group of GROUPS)
        for (const [partition, end] of wanted) {
          const at = positions.get(`${group} ${partition}`) ?? -1;
          if (at < end) throw new Error(`${group} is at ${at} of ${end} on partition ${partition}`);
        }
      return true;
    });
  }
}
