import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { deleteRecordsBefore } from '@tailrace/kafka-kit/testing';
import { lines } from '../incidents/receiver.ts';
import { until } from '../machine/until.ts';
import { kafkaSettings, TOPIC } from '../pipeline/endpoints.ts';
import type { TimeSpan } from '../proof/index-documents.ts';
import { RESULTS_FOLDER } from '../report.ts';
import { finalCount } from './final-count.ts';
import { planReplay, type Receipt, runReplay, sourcesOf } from './replay-commands.ts';
import { type Positions, Stage, type StageOptions } from './stage.ts';
import { type Held, heldByIndex, heldByKafka, heldByLake } from './window.ts';

export interface StoryResult {
  /** What happened, in rows for people. */
  readonly table: readonly (readonly [what: string, value: string])[];
  /** What differs, a line each. */
  readonly findings: readonly string[];
}

const LOGS = join(RESULTS_FOLDER, 'story-logs');
/** A scaled 40 minutes, in events. */
const DROPPED_EVENTS = 2000;
const CALM_EVENTS = 500;
const BACKLOG_EVENTS = 2500;
/** No event of the traffic has this number. */
const TWICE_NUMBER = 1_000_000_000;
const SETTLED_MS = 120_000;
/** Kafka keeps so little while the indexer is away, and looks every 5 s. */
const SHORT_RETENTION = { 'retention.ms': '4000', 'segment.ms': '1000' };

/** Plays the story on real servers, and checks it. After a finding or a failure the logs of all processes are kept. */
export async function story(options: StageOptions): Promise<StoryResult> {
  rmSync(LOGS, { recursive: true, force: true });
  const stage = await Stage.open(options);
  const { folder } = stage.cluster.stack;
  let kept = true;
  try {
    const stopped = new Promise<never>((_, reject) =>
      options.signal.addEventListener('abort', () => reject(options.signal.reason), { once: true }),
    );
    const failed = stage.cluster.stack.failed.then((failure) => {
      throw failure;
    });
    const result = await Promise.race([new Story(stage).play(), failed, stopped]);
    kept = result.findings.length > 0;
    return result;
  } finally {
    // Before the folder goes.
    if (kept && existsSync(folder)) cpSync(join(folder, 'logs'), LOGS, { recursive: true });
    if (kept) options.report(`the logs of this run are kept in ${LOGS}`);
    await stage.close();
  }
}

class Story {
  readonly #stage: Stage;
  readonly #table: (readonly [string, string])[] = [];
  readonly #findings: string[] = [];

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async play(): Promise<StoryResult> {
    const startedMs = performance.now();
    await this.#bringBackFromKafka();
    await this.#bringBackWithTheLake();
    await this.#comeBackFromBehindRetention();
    await this.#toldNothing();
    await this.#countAll();
    this.#row('time', `${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
    return { table: this.#table, findings: this.#findings };
  }

  /** One: the window is replayed while traffic goes on. */
  async #bringBackFromKafka(): Promise<void> {
    const { cluster, report } = this.#stage;
    const traffic = this.#stage.startTraffic();
    await traffic.accepted(CALM_EVENTS);
    report('events flow; now the indexer gets a parser with a bug');
    const span = await this.#dropWindow();
    const { hole, held } = await this.#hole(span, 'the bug');
    const plan = await planReplay(cluster, span);
    const watch = this.#watchPositions();
    const receipt = await runReplay(cluster, plan);
    const went = await watch.end();
    this.#expect('no group went back while live traffic went on', went, []);
    await this.#judge('replay 1, beside live traffic', span, held, receipt, hole);
    await traffic.stop();
  }

  /** Two: half of the window is gone from Kafka. */
  async #bringBackWithTheLake(): Promise<void> {
    const { cluster, report } = this.#stage;
    const traffic = this.#stage.startTraffic();
    await traffic.accepted(CALM_EVENTS);
    const span = await this.#dropWindow();
    await traffic.stop();
    const { hole, held } = await this.#hole(span, 'the same bug again');
    await until('the window in the lake', SETTLED_MS, async () => (await heldByLake(cluster.endpoints, span)).records === held.records);
    for (const [partition, offsets] of held.offsets) {
      const middle = offsets[Math.floor(offsets.length / 2)];
      if (middle !== undefined) await deleteRecordsBefore(kafkaSettings(cluster.endpoints), { topic: TOPIC, partition }, middle);
    }
    const left = await heldByKafka(cluster.endpoints, span);
    report(`half of the window is deleted from Kafka: ${left.records} of ${held.records} records are left there`);
    const plan = await planReplay(cluster, span);
    await this.#stage.caughtUp();
    const before = await this.#stage.positions();
    const receipt = await runReplay(cluster, plan);
    this.#expect('no group was moved', moved(before, await this.#stage.positions()), []);
    const { fromLake, fromKafka } = sourcesOf(receipt);
    this.#expect(
      'the lake gave what Kafka had not, and Kafka the rest',
      [fromLake >= held.records - left.records, fromKafka > 0],
      [true, true],
    );
    await this.#judge('replay 2, with the lake’s help', span, held, receipt, hole);
  }

  /** Three: Kafka expires what the indexer has not read. */
  async #comeBackFromBehindRetention(): Promise<void> {
    const { cluster, report } = this.#stage;
    await this.#stage.stopIndexer();
    report('the indexer is stopped, and Kafka keeps a few seconds only');
    const traffic = this.#stage.startTraffic();
    await this.#configure(SHORT_RETENTION);
    await traffic.accepted(BACKLOG_EVENTS);
    const expired = await until('a backlog that Kafka has expired in part', SETTLED_MS, async () => {
      const gone = (await this.#stage.logs()).map(({ logStart, indexed }) => Math.max(0, logStart - indexed));
      return gone.every((offsets) => offsets > 0) ? gone.reduce((sum, offsets) => sum + offsets, 0) : undefined;
    });
    const { code, stdout, stderr } = await cluster.tailrace('topics', 'apply');
    if (code !== 0) throw new Error(`tailrace topics apply: ${stdout}${stderr}`);
    await this.#stage.startIndexer('good');
    await traffic.stop();
    const begunMs = performance.now();
    await this.#stage.caughtUp();
    this.#row('expired before they were indexed', `${expired} records, back from the lake within ${seconds(performance.now() - begunMs)}`);
  }

  /** All along alerts were decided upon, and nothing of what was replayed was counted again; and what really comes twice is told. */
  async #toldNothing(): Promise<void> {
    const { alerts, alertProcessor } = this.#stage;
    const begunMs = performance.now();
    this.#expect('alerts about what was replayed', lines(alerts), []);
    await this.#stage.postTwice(TWICE_NUMBER);
    const wanted = `counted-twice ${TWICE_NUMBER}: firing`;
    await until('an alert about an event that was posted twice', SETTLED_MS, () => lines(alerts).includes(wanted));
    const within = seconds(performance.now() - begunMs);
    this.#expect('alerts but the one that was asked for', lines(alerts), [wanted]);
    const groups = (await alertProcessor.figure('tailrace_alert_groups')) ?? 0;
    this.#expect('the alert-processor held events to tell of', groups > 1, true);
    this.#row('alerts', `none about what was replayed, with ${groups} events watched; one that was posted twice was told within ${within}`);
  }

  async #countAll(): Promise<void> {
    const { cluster, report } = this.#stage;
    await this.#stage.caughtUp();
    report('every record is counted now');
    const { records, documents, rows, findings } = await finalCount(this.#stage);
    this.#findings.push(...findings);
    this.#row('records, documents, rows', `${records}, ${documents}, ${rows}`);
    const audit = await cluster.tailrace('lake', 'audit', '--deep');
    this.#expect('lake audit --deep is clean', audit.code, 0);
  }

  /** Has a faulty parser skip a stretch of the stream, and mends it. */
  async #dropWindow(): Promise<TimeSpan> {
    await this.#stage.stopIndexer();
    const fromMs = await this.#stage.oldestNotIndexedMs();
    await this.#stage.startIndexer('faulty');
    const indexed = async () => (await this.#stage.logs()).reduce((sum, { indexed }) => sum + indexed, 0);
    const wanted = (await indexed()) + DROPPED_EVENTS;
    await until(`${DROPPED_EVENTS} events dropped`, SETTLED_MS, async () => (await indexed()) >= wanted);
    await this.#stage.stopIndexer();
    const toMs = Date.now();
    await this.#stage.startIndexer('good');
    return { fromMs, toMs };
  }

  /** What the index misses of a window that is over, once the indexer is past it. */
  async #hole(span: TimeSpan, what: string): Promise<{ readonly hole: number; readonly held: Held }> {
    const { cluster, report } = this.#stage;
    const held = await heldByKafka(cluster.endpoints, span);
    await this.#stage.caughtUp(new Map([...held.offsets].map(([partition, offsets]) => [partition, (offsets.at(-1) ?? 0) + 1])));
    const documents = await heldByIndex(cluster.endpoints, span);
    const hole = held.records - documents;
    report(`${what}: the index holds ${documents} of the window’s ${held.records} records; its parser is mended`);
    this.#expect('a hole to tell of', hole >= DROPPED_EVENTS / 2, true);
    return { hole, held };
  }

  async #judge(what: string, span: TimeSpan, held: Held, receipt: Receipt, hole: number): Promise<void> {
    const { sent, applied } = receipt;
    const { fromKafka, fromLake } = sourcesOf(receipt);
    const { endpoints } = this.#stage.cluster;
    await until('the window in the lake', SETTLED_MS, async () => (await heldByLake(endpoints, span)).records >= held.records);
    const lake = await heldByLake(endpoints, span);
    this.#expect(`${what}: documents of the window`, await heldByIndex(endpoints, span), held.records);
    this.#expect(`${what}: sent`, sent.records, held.records);
    this.#expect(`${what}: stored`, applied.stored, held.records);
    this.#expect(`${what}: skipped or dead`, [applied.skipped, applied.dead], [{}, 0]);
    this.#expect(`${what}: the checksum of what was sent`, sent.checksum, lake.checksum);
    this.#expect(`${what}: the checksum of what was applied`, applied.checksum, lake.checksum);
    this.#row(
      what,
      `${hole} of ${held.records} were missing; ${fromKafka} from Kafka, ${fromLake} from the lake, checksum ${applied.checksum}`,
    );
  }

  /** Looks while something goes on whether a group is set back. */
  #watchPositions(): { readonly end: () => Promise<string[]> } {
    const ended = new AbortController();
    const watch = async (): Promise<string[]> => {
      const back: string[] = [];
      let before = await this.#stage.positions();
      while (!ended.signal.aborted) {
        const now = await this.#stage.positions();
        back.push(...moved(before, now).filter((line) => line.endsWith('back')));
        before = now;
      }
      return back;
    };
    const watching = watch();
    return {
      end: () => {
        ended.abort();
        return watching;
      },
    };
  }

  async #configure(configs: Readonly<Record<string, string>>): Promise<void> {
    await this.#stage.cluster.admin.apply(
      Object.entries(configs).map(([name, to]) => ({ kind: 'set-config', topic: TOPIC, name, from: null, to })),
    );
  }

  #row(what: string, value: string): void {
    this.#table.push([what, value]);
  }

  #expect<T>(what: string, found: T, wanted: T): void {
    const [is, must] = [JSON.stringify(found), JSON.stringify(wanted)];
    if (is !== must) this.#findings.push(`${what}: ${is}, and should be ${must}`);
  }
}

/** Positions that are not what they were. */
function moved(before: Positions, after: Positions): string[] {
  return [...before].flatMap(([place, at]) => {
    const now = after.get(place) ?? -1;
    return now === at ? [] : [`${place} went from ${at} to ${now}${now < at ? ', back' : ''}`];
  });
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
