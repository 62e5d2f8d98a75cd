import { randomUUID } from 'node:crypto';
import {
  type Backoff,
  backoffMs,
  type ClusterAdmin,
  type LogRange,
  type OutgoingRecord,
  type Publisher,
  partitionKey,
  type RawRecord,
} from '@tailrace/kafka-kit';
import type { StateRecord } from './alert-state.ts';
import { Gather } from './gather.ts';
import { decodeState, encodeState, StateTable, stateKey } from './state-codec.ts';

export interface StateLogPorts {
  readonly topic: string;
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly admin: Pick<ClusterAdmin, 'logEnds'>;
  /** Where the logs of all partitions begin and end now. */
  readonly ranges: () => Promise<readonly LogRange[]>;
  readonly read: (ranges: readonly LogRange[]) => AsyncIterable<readonly RawRecord[]>;
  readonly backoff: Backoff;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Told of each try that left records without an acknowledgement. */
  readonly onRetry: (records: number, reason: string) => void;
  readonly onUnreadable: (records: number) => void;
}

/** One life of a partition in the hands of one process. */
export interface Ownership {
  readonly partition: number;
  /**
   * The log's end when it was read, or above every epoch that stands in it: whoever takes over later has a higher one, also where the topic was made
   * anew meanwhile, and its end lies below those of before.
   */
  readonly epoch: number;
  readonly owner: string;
  /** Up to here nobody took the partition over behind our own record. */
  provenEnd: number;
  /** Records of ours behind it that are acknowledged. */
  ownSince: number;
  /** What we wrote is gone from the log: whoever takes over next in this process writes again what is known. */
  lost: boolean;
}

export interface TakenOver {
  readonly ownership: Ownership;
  readonly records: readonly StateRecord[];
}

const DEADLINE_MS = 30_000;
const GATHER_MS = 10;

/** The topic `alert-state`, one partition at a time: read whole by whoever takes it over, written by its owner until it is acknowledged. */
export class StateLog {
  readonly #ports: StateLogPorts;
  readonly #takeOvers: Gather<number, TakenOver>;
  readonly #ends: Gather<number, number>;

  constructor(ports: StateLogPorts) {
    this.#ports = ports;
    this.#takeOvers = new Gather(GATHER_MS, (partitions) => this.#takeOverAll(partitions));
    this.#ends = new Gather(1, (partitions) => this.#endsOf(partitions));
  }

  /** Reads a partition to its end and writes into it whose it is now. Rejects when the cluster does not answer; to be tried again then. */
  takeOver(partition: number): Promise<TakenOver> {
    return this.#takeOvers.ask(partition);
  }

  /** Resolves once every record is acknowledged, however long that takes; rejects only when the signal aborts. `gone`: those that get a tombstone. */
  async write(ownership: Ownership, records: readonly StateRecord[], gone: readonly StateRecord[], signal: AbortSignal): Promise<void> {
    const { topic } = this.#ports;
    const { partition } = ownership;
    const keyOf = (record: StateRecord) => Buffer.from(stateKey(record));
    const written = records.map((record) => ({ topic, partition, key: keyOf(record), value: encodeState(record) }));
    const deleted = gone.map((record) => ({ topic, partition, key: keyOf(record), value: null }));
    await this.#publish([...written, ...deleted], signal);
    ownership.ownSince += written.length + deleted.length;
  }

  /**
   * Whether nobody took the partition over up to now: what was acknowledged before the call is then read by whoever comes next, and may be acted
   * upon. A process that was stopped for a while and does not know of its successor finds out here. No write of ours may be under way: as long as
   * the log is as long as our own records make it, there is no other's, and nothing needs to be read.
   */
  async isOurs(ownership: Ownership): Promise<boolean> {
    const { topic } = this.#ports;
    const { partition, epoch, owner, provenEnd, ownSince } = ownership;
    const end = await this.#ends.ask(partition);
    // What is acknowledged is gone: the topic was made anew, or its end was lost. To be taken over anew, and what is known written again.
    if (end < provenEnd + ownSince) ownership.lost = true;
    if (ownership.lost) return false;
    if (end !== provenEnd + ownSince) {
      for await (const records of this.#ports.read([{ topic, partition, from: provenEnd, to: end }])) {
        for (const { value } of records) {
          const record = value === null ? undefined : decodeState(value);
          if (record?.kind === 'partition' && record.owner !== owner && record.epoch >= epoch) return false;
        }
      }
    }
    ownership.provenEnd = end;
    ownership.ownSince = 0;
    return true;
  }

  async #endsOf(partitions: readonly number[]): Promise<number[]> {
    const { topic, admin } = this.#ports;
    const ends = await admin.logEnds(partitions.map((partition) => ({ topic, partition })));
    return partitions.map((partition) => {
      const end = ends.get(partitionKey({ topic, partition }));
      if (end === undefined) throw new Error(`partition ${partition} of ${topic} has no leader now`);
      return end;
    });
  }

  async #takeOverAll(partitions: readonly number[]): Promise<TakenOver[]> {
    const { topic, onUnreadable } = this.#ports;
    const tables = new Map(partitions.map((partition) => [partition, new StateTable()]));
    const all = await this.#ports.ranges();
    const ranges = all.filter(({ partition }) => tables.has(partition));
    await this.#readInto(tables, ranges);
    const owner = randomUUID();
    const taken = ranges.map(({ partition, to }) => {
      const records = tables.get(partition)?.records ?? [];
      const known = records.find((record) => record.kind === 'partition');
      const epoch = records.reduce((above, record) => Math.max(above, record.epoch + 1), to);
      const record: StateRecord = { kind: 'partition', partition, watermarkMs: known?.watermarkMs ?? null, epoch, owner };
      return { ownership: { partition, epoch, owner, provenEnd: to, ownSince: 1, lost: false }, record };
    });
    const fates = await this.#ports.publisher.publish(
      taken.map(({ record, ownership: { partition } }) => ({
        topic,
        partition,
        key: Buffer.from(stateKey(record)),
        value: encodeState(record),
      })),
      { deadlineMs: DEADLINE_MS },
    );
    for (const fate of fates) if (fate.kind !== 'acknowledged') throw new Error(`${topic} can not be taken over: ${fate.reason}`);
    // What the owner before wrote between our reading and our record is read, too: whatever it writes from now on it must not act upon.
    const ends = await this.#endsOf(taken.map(({ ownership }) => ownership.partition));
    const tails = taken.map(({ ownership: { partition, provenEnd } }, at) => ({
      topic,
      partition,
      from: provenEnd,
      to: ends[at] ?? provenEnd,
    }));
    await this.#readInto(
      tables,
      tails.filter(({ from, to }) => to > from + 1),
    );
    let unreadable = 0;
    for (const table of tables.values()) unreadable += table.unreadable;
    if (unreadable > 0) onUnreadable(unreadable);
    const byPartition = new Map(taken.map(({ ownership }) => [ownership.partition, ownership]));
    return partitions.map((partition) => {
      const ownership = byPartition.get(partition);
      if (ownership === undefined) throw new Error(`${topic} has no partition ${partition}`);
      return { ownership, records: tables.get(partition)?.records ?? [] };
    });
  }

  async #readInto(tables: ReadonlyMap<number, StateTable>, ranges: readonly LogRange[]): Promise<void> {
    if (ranges.every(({ from, to }) => from >= to)) return;
    for await (const records of this.#ports.read(ranges)) {
      for (const { partition, key, value } of records) tables.get(partition)?.take(key, value);
    }
  }

  async #publish(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<void> {
    const { publisher, backoff, onRetry, sleep } = this.#ports;
    let open = records;
    for (let attempt = 1; open.length > 0; attempt++) {
      // Looked at before the first try, too: what was given up meanwhile must not be written late.
      if (signal.aborted) throw new Error('the partition was given up');
      const fates = await publisher.publish(open, { deadlineMs: DEADLINE_MS });
      const reasons = fates.flatMap((fate) => (fate.kind === 'acknowledged' ? [] : [fate.reason]));
      const tried = open;
      open = tried.filter((_, at) => fates[at]?.kind !== 'acknowledged');
      if (open.length === 0) return;
      onRetry(open.length, reasons[0] ?? 'no answer');
      await sleep(backoffMs(backoff, attempt, Math.random), signal);
    }
  }
}
