import { randomUUID } from 'node:crypto';
import { type ClusterAdmin, type KafkaSettings, type Publisher, type RawRecord, readRanges } from '@tailrace/kafka-kit';
import { createLogger } from '@tailrace/service';
import { expect, vi } from 'vitest';
import { decodeMessage } from '../messages/codec.ts';
import type { Cell, LaneMark } from '../messages/message.ts';
import { type OpenPanesOptions, openPanes, type Panes } from '../panes/open-panes.ts';
import type { RuleSource } from '../panes/rule-source.ts';
import type { RuleSet } from '../rules/rule.ts';
import { LATENESS_MS, PANE_MS, plainRule, ruleSet } from './plain-rules.ts';
import { rigCluster } from './rig-cluster.ts';

const LOG_TIME = { 'message.timestamp.type': 'LogAppendTime' };

/** The rules of tests, as a source that can change them. */
export class TestRules implements RuleSource {
  current: RuleSet;
  readonly #listeners: ((rules: RuleSet) => void)[] = [];

  constructor(current: RuleSet) {
    this.current = current;
  }

  onChange(listener: (rules: RuleSet) => void): void {
    this.#listeners.push(listener);
  }

  change(rules: RuleSet): void {
    this.current = rules;
    for (const listener of this.#listeners) listener(rules);
  }
}

/** Stage 1 over topics of its own on the real cluster, and what it published. */
export class PanesRig {
  readonly settings: KafkaSettings;
  readonly group: string;
  readonly events: string;
  readonly partials: string;
  readonly #admin: ClusterAdmin;
  readonly publisher: Publisher;
  readonly #running = new Set<Panes>();

  private constructor(settings: KafkaSettings, admin: ClusterAdmin, publisher: Publisher, names: readonly [string, string, string]) {
    this.settings = settings;
    this.#admin = admin;
    this.publisher = publisher;
    [this.group, this.events, this.partials] = names;
  }

  static async make(partitions: number, configs: Readonly<Record<string, string>> = {}): Promise<PanesRig> {
    const id = randomUUID().slice(0, 8);
    const [group, events, partials] = [`panes-${id}`, `panes-events-${id}`, `panes-partials-${id}`] as const;
    const spec = { key: 'none' as const, replicationFactor: 1 };
    const { settings, admin, publisher } = await rigCluster('panes-test', [
      { ...spec, name: events, partitions, configs: { ...LOG_TIME, ...configs } },
      { ...spec, name: partials, partitions: 3, configs: LOG_TIME },
    ]);
    return new PanesRig(settings, admin, publisher, [group, events, partials]);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running].map((each) => each.close(10_000)));
    await this.publisher.close(5000);
    await this.#admin.deleteTopics([this.events, this.partials]);
    await this.#admin.close();
  }

  /** Settings of a member on this rig's topics. */
  options(rules: RuleSource, changes: Partial<OpenPanesOptions> = {}): OpenPanesOptions {
    return {
      kafka: this.settings,
      group: this.group,
      topics: [this.events],
      partialsTopic: this.partials,
      rules,
      tickMs: 50,
      stopMs: 10_000,
      maxPollIntervalMs: 60_000,
      nowMs: Date.now,
      log: createLogger({ name: 'panes', level: 'silent' }),
      signal: new AbortController().signal,
      observe: () => {},
      onRetry: () => {},
      onPublished: () => {},
      ...changes,
    };
  }

  async open(rules: RuleSource = new TestRules(ruleSet([plainRule()])), changes: Partial<OpenPanesOptions> = {}): Promise<Panes> {
    const panes = await openPanes(this.options(rules, changes));
    this.#running.add(panes);
    return { ...panes, close: (ms) => (this.#running.delete(panes) ? panes.close(ms) : Promise.resolve()) };
  }

  /** Appends values; resolves once all are acknowledged. */
  async post(values: readonly string[], partition: number): Promise<void> {
    const records = values.map((value) => ({ topic: this.events, partition, key: null, value: Buffer.from(value) }));
    const fates = await this.publisher.publish(records, { deadlineMs: 20_000 });
    for (const fate of fates) if (fate.kind !== 'acknowledged') throw new Error(`not acknowledged: ${fate.reason}`);
  }

  async lag() {
    return await this.#admin.groupLag(this.group, [this.events]);
  }

  /** Until all is counted, published and committed that was posted. */
  async untilRead(): Promise<void> {
    await vi.waitFor(
      async () => {
        const lag = await this.lag();
        expect(lag.map((each) => [each.committed !== null, each.lag])).toEqual(lag.map(() => [true, 0]));
      },
      { timeout: 30_000, interval: 200 },
    );
  }

  async #read(topic: string): Promise<RawRecord[]> {
    const lag = await this.#admin.groupLag(`${this.group}.reader`, [topic]);
    const ranges = lag.map(({ partition, logStart, logEnd }) => ({ topic, partition, from: logStart, to: logEnd }));
    const records: RawRecord[] = [];
    for await (const some of readRanges(this.settings, ranges)) records.push(...some);
    return records;
  }

  /** Everything that was published, as the deciding stage takes it: per rule version, group, pane and source the cell with the highest offset. */
  async published(): Promise<Published> {
    const cells = new Map<string, Cell>();
    const marks: LaneMark[] = [];
    for (const { partition, value } of await this.#read(this.partials)) {
      const message = decodeMessage(value);
      if (message.kind === 'cells') {
        for (const cell of message.cells) {
          const key = cellKey(cell.rule.version, cell.source.partition, cell.group, cell.paneMs);
          if ((cells.get(key)?.offset ?? -1) <= cell.offset) cells.set(key, cell);
        }
      } else if (message.kind === 'marks' && partition === 0) marks.push(...message.marks);
    }
    return { cells, marks };
  }

  /** Counts by hand what `plainRule` counts, by the words of the design: events by service, partition and pane, without those that came too late. */
  async recount({ paneMs, latenessMs, version = 'v1' }: Recount = { paneMs: PANE_MS, latenessMs: LATENESS_MS }): Promise<RecountResult> {
    const counts = new Map<string, number>();
    const greatest = new Map<number, number>();
    let late = 0;
    for (const { partition, value, timestampMs } of await this.#read(this.events)) {
      const event = JSON.parse(value?.toString() ?? 'null') as { timestamp: string; service: string };
      const startMs = Math.floor(Math.min(Date.parse(event.timestamp), timestampMs) / paneMs) * paneMs;
      const b = Math.max(greatest.get(partition) ?? 0, timestampMs);
      greatest.set(partition, b);
      if (startMs + paneMs <= b - latenessMs) {
        late += 1;
        continue;
      }
      const key = cellKey(version, partition, JSON.stringify([event.service]), startMs);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return { counts, late };
  }
}

export interface Recount {
  readonly paneMs: number;
  readonly latenessMs: number;
  readonly version?: string;
}

export interface RecountResult {
  readonly counts: ReadonlyMap<string, number>;
  readonly late: number;
}

export interface Published {
  readonly cells: ReadonlyMap<string, Cell>;
  /** In their order, of all lanes. */
  readonly marks: readonly LaneMark[];
}

/** What was published, in the form of a recount. */
export function countsOf({ cells }: Published): ReadonlyMap<string, number> {
  return new Map([...cells].map(([key, { partial }]) => [key, partial[1]]));
}

export function markOf({ marks }: Published, partition: number): LaneMark | undefined {
  return marks.findLast(({ source }) => source.partition === partition);
}

export function cellKey(version: string, partition: number, group: string, paneMs: number): string {
  return `${version} ${partition} ${group} ${paneMs}`;
}

/** `count` events of this moment, by three services in turn. */
export function eventsNow(count: number, nowMs = Date.now()): string[] {
  const timestamp = new Date(nowMs).toISOString();
  return Array.from({ length: count }, (_, i) => JSON.stringify({ timestamp, service: `service-${i % 3}`, status_code: 200 }));
}
