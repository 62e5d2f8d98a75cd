import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ClusterAdmin, type KafkaSettings, type Publisher, readRanges, systemClock } from '@tailrace/kafka-kit';
import type { AlertState, StateRecord } from '../decide/alert-state.ts';
import { StateTable } from '../decide/state-codec.ts';
import { encodeMessage, partitionOf } from '../messages/codec.ts';
import type { Message } from '../messages/message.ts';
import { type Received, type Receiver, receive } from '../notify/testing/receiver.ts';
import type { DecideProcessOptions } from './decide-process.ts';
import { startProcess } from './member.ts';
import { plainRule } from './plain-rules.ts';
import { rigCluster } from './rig-cluster.ts';

const script = fileURLToPath(new URL('./decide-process.ts', import.meta.url));
export const PANE_MS = 1000;
export const WINDOW_MS = 5000;
const RULE = { name: plainRule().name, version: plainRule().version };

interface Names {
  readonly group: string;
  readonly events: string;
  readonly partials: string;
  readonly state: string;
}

/** Stage 2 as processes, over topics of its own on the real cluster; the test is stage 1, and the receiver at the other end. */
export class DecideRig {
  readonly partitions: number;
  readonly receiver: Receiver;
  readonly #settings: KafkaSettings;
  readonly #admin: ClusterAdmin;
  readonly #publisher: Publisher;
  readonly #folder: string;
  readonly #names: Names;
  #offset = 0;

  private constructor(parts: {
    partitions: number;
    receiver: Receiver;
    settings: KafkaSettings;
    admin: ClusterAdmin;
    publisher: Publisher;
    folder: string;
    names: Names;
  }) {
    this.partitions = parts.partitions;
    this.receiver = parts.receiver;
    this.#settings = parts.settings;
    this.#admin = parts.admin;
    this.#publisher = parts.publisher;
    this.#folder = parts.folder;
    this.#names = parts.names;
  }

  static async make(partitions: number, answer: Parameters<typeof receive>[0]): Promise<DecideRig> {
    const id = randomUUID().slice(0, 8);
    const names = { group: `decide-${id}`, events: `decide-events-${id}`, partials: `decide-partials-${id}`, state: `decide-state-${id}` };
    const spec = { key: 'none' as const, replicationFactor: 1 };
    const configs = { 'message.timestamp.type': 'LogAppendTime' };
    const { settings, admin, publisher } = await rigCluster('decide-test', [
      { ...spec, name: names.events, partitions: 1, configs },
      { ...spec, name: names.partials, partitions, configs },
      { ...spec, key: 'entity', name: names.state, partitions, configs: { 'cleanup.policy': 'compact' } },
    ]);
    const receiver = await receive(answer);
    const folder = await mkdtemp(join(tmpdir(), 'decide-'));
    const url = JSON.stringify(receiver.url.href);
    await writeFile(join(folder, 'notifiers.yaml'), `notifiers:\n  - {name: oncall, kind: webhook, url: ${url}, allow_private: true}\n`);
    return new DecideRig({ partitions, receiver, settings, admin, publisher, folder, names });
  }

  async close(): Promise<void> {
    await this.receiver[Symbol.asyncDispose]();
    await this.#publisher.close(5000);
    await this.#admin.deleteTopics([this.#names.events, this.#names.partials, this.#names.state]);
    await this.#admin.close();
    await rm(this.#folder, { recursive: true });
  }

  /** A member; resolves once it reads so many partitions. */
  async start(reads: number): Promise<ChildProcess> {
    const { group, events, partials, state } = this.#names;
    const told: DecideProcessOptions = {
      kafka: this.#settings,
      group,
      topics: [events],
      partialsTopic: partials,
      stateTopic: state,
      notifiers: join(this.#folder, 'notifiers.yaml'),
      paneMs: PANE_MS,
      windowMs: WINDOW_MS,
    };
    return await startProcess(script, told, (lines) => lines.size >= reads);
  }

  /** What the lane of the one source partition counted of a service in a pane. */
  async count(service: string, paneMs: number, n: number): Promise<void> {
    const group = JSON.stringify([service]);
    this.#offset += 1;
    const times = { paneMs, offset: this.#offset, brokerMs: paneMs + PANE_MS - 1, eventMs: paneMs };
    const message: Message = { kind: 'cells', cells: [{ rule: RULE, group, source: this.#source, ...times, partial: ['count', n] }] };
    await this.#send(message, [partitionOf(RULE.name, group, this.partitions)]);
  }

  /** Everything up to there is counted: told once that time has come, since no mark counts that is ahead of the brokers' clock. */
  async mark(watermarkMs: number): Promise<void> {
    await systemClock.sleep(Math.max(0, watermarkMs - Date.now()));
    const mark = { source: this.#source, watermarkMs, fromMs: 0, ruleFromMs: new Map(), unread: false, late: 0 };
    await this.send({ kind: 'marks', rules: [RULE], marks: [mark] });
  }

  /** To every partition. */
  async send(message: Message): Promise<void> {
    await this.#send(
      message,
      Array.from({ length: this.partitions }, (_, partition) => partition),
    );
  }

  /** Idempotency keys in the order in which they came, a repeat each time. */
  get keys(): string[] {
    return this.receiver.received.map(keyOf);
  }

  async records(): Promise<readonly StateRecord[]> {
    const lag = await this.#admin.groupLag(`${this.#names.group}.reader`, [this.#names.state]);
    const ranges = lag.map(({ topic, partition, logStart, logEnd }) => ({ topic, partition, from: logStart, to: logEnd }));
    const tables = new Map<number, StateTable>();
    for await (const records of readRanges(this.#settings, ranges)) {
      for (const { partition, key, value } of records) {
        const table = tables.get(partition) ?? new StateTable();
        tables.set(partition, table);
        table.take(key, value);
      }
    }
    return [...tables.values()].flatMap((table) => table.records);
  }

  async alerts(): Promise<AlertState[]> {
    return (await this.records()).filter((record) => record.kind === 'alert');
  }

  /** Up to when each partition is decided, as its owner says before it commits. */
  async watermarks(): Promise<(number | null)[]> {
    const partitions = (await this.records()).filter((record) => record.kind === 'partition');
    return partitions.sort((a, b) => a.partition - b.partition).map(({ watermarkMs }) => watermarkMs);
  }

  get #source() {
    return { topic: this.#names.events, incarnation: 'AbCd-_12', partition: 0 };
  }

  async #send(message: Message, partitions: readonly number[]): Promise<void> {
    const value = encodeMessage(message);
    const records = partitions.map((partition) => ({ topic: this.#names.partials, partition, key: null, value }));
    const fates = await this.#publisher.publish(records, { deadlineMs: 20_000 });
    for (const fate of fates) if (fate.kind !== 'acknowledged') throw new Error(`not acknowledged: ${fate.reason}`);
  }
}

export function keyOf({ headers }: Received): string {
  return String(headers['idempotency-key']);
}
