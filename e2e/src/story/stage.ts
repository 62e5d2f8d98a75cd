import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstTimes } from '@tailrace/kafka-kit';
import { Cluster } from '../cluster/cluster.ts';
import type { Member } from '../cluster/member.ts';
import { AlertReceiver } from '../incidents/receiver.ts';
import { until } from '../machine/until.ts';
import { kafkaSettings, TOPIC } from '../pipeline/endpoints.ts';
import { PostClient } from '../traffic/post.ts';
import { Traffic } from '../traffic/traffic.ts';
import { type ParserName, writeParsers } from './parsers.ts';

export interface StageOptions {
  readonly brokers: 1 | 3;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
}

const CAUGHT_UP_MS = 120_000;
/**
 * Each event is a group of its own here, and one that is counted twice fires: as the events of a window would that a replay had counted again. They would
 * come late, so lateness is long.
 */
const TWICE_RULES = `rules:
  - name: counted-twice
    summary: "event {attributes.n} was counted more than once"
    where: status_code >= 400
    group_by: [attributes.n]
    measure: count
    window: 10m
    condition: "> 1"
    severity: critical
    response: {do: "Look who wrote it again.", do_not: "Do not trust counts of this window."}
`;
const LATENESS_MS = 600_000;

const GROUPS = ['indexer', 'archiver'] as const;

/** Where each group stands on each partition, as text: `indexer 3` is at an offset. */
export type Positions = ReadonlyMap<string, number>;

/** The whole system with traffic through its gateway, and an indexer whose parser can be changed. */
export class Stage {
  readonly cluster: Cluster;
  readonly report: (line: string) => void;
  /** Whom the alert-processor tells. */
  readonly alerts: AlertReceiver;
  readonly alertProcessor: Member;
  readonly #gateway: Member;
  readonly #parser: ReturnType<typeof writeParsers>;
  readonly #seed: number;
  readonly #traffics: Traffic[] = [];
  #indexer: Member;

  private constructor(cluster: Cluster, alerts: AlertReceiver, { seed, report }: StageOptions) {
    const folder = join(cluster.stack.folder, 'parsers');
    mkdirSync(folder);
    this.cluster = cluster;
    this.report = report;
    this.#seed = seed;
    this.#parser = writeParsers(folder);
    this.#gateway = cluster.join('ingest-gateway');
    this.#indexer = cluster.join('indexer', this.#parser('good'));
    this.alerts = alerts;
    const [rules, notifiers] = ['story-rules.yaml', 'story-notifiers.yaml'].map((name) => join(cluster.stack.folder, name)) as [
      string,
      string,
    ];
    writeFileSync(rules, TWICE_RULES);
    writeFileSync(notifiers, alerts.notifiersText);
    this.alertProcessor = cluster.join('alert-processor', {
      ALERT_RULES: rules,
      ALERT_NOTIFIERS: notifiers,
      ALERT_LATENESS_MS: String(LATENESS_MS),
    });
    // Several objects for each partition of a window, so that lake and Kafka meet inside of it.
    cluster.join('archiver', { ARCHIVER_MAX_RECORD_TIME_MS: '2000' });
  }

  static async open(options: StageOptions): Promise<Stage> {
    const { brokers, signal, report } = options;
    const cluster = await Cluster.start({ brokers, jit: 'fast-start', signal, report });
    const alerts = await AlertReceiver.start();
    try {
      const stage = new Stage(cluster, alerts, options);
      await stage.#gateway.ready();
      await Promise.all([...GROUPS, 'alert-processor' as const].map((group) => cluster.settled(group)));
      return stage;
    } catch (failed) {
      await cluster.stop();
      await alerts.close();
      throw failed;
    }
  }

  /** Every number that was accepted so far. */
  get accepted(): readonly number[] {
    return this.#traffics.flatMap(({ fates }) => [...fates.numbers].filter((number) => fates.allowed(number).least > 0));
  }

  /** Posts an event twice. */
  async postTwice(number: number): Promise<void> {
    const client = new PostClient(() => this.#gateway.gatewayUrl);
    const event = { timestamp: new Date().toISOString(), service: 'story', status_code: 500, attributes: { n: number } };
    const value = Buffer.from(JSON.stringify(event));
    try {
      const { answered } = await client.post([value, value]);
      if (answered !== 'accepted') throw new Error(`an event that is posted twice: ${answered}`);
    } finally {
      client.close();
    }
  }

  async close(): Promise<void> {
    await this.cluster.stop();
    await this.alerts.close();
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
