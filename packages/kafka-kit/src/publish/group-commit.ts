import type { BrokerProducer, FailedRecord } from '../broker/broker-producer.ts';
import type { Clock } from '../time/clock.ts';
import type { OutgoingRecord } from './contract.ts';
import type { PublishRequest } from './request.ts';

/** One record of one request. */
export interface Entry {
  readonly request: PublishRequest;
  readonly index: number;
  readonly record: OutgoingRecord;
}

/** How long the first record of an idle producer waits for company. */
const GATHER_MS = 2;
/** Records of one group at most: their answers wait for each other. */
const MAX_GROUP_RECORDS = 20_000;
const FULL_RETRY_MS = 10;

/**
 * One producer, one group at a time: everything that waits is handed over, then one flush acknowledges all of it. What comes
 * meanwhile is the next group, so the order per producer is the order of the calls.
 */
export class GroupCommit {
  readonly #producer: BrokerProducer;
  readonly #clock: Clock;
  readonly #done: (record: OutgoingRecord) => void;
  readonly #acknowledged: () => void;
  #waiting: Entry[] = [];
  #next = 0;
  #running: Promise<void> | undefined;

  /** `done` is called once for every record that needs no memory any more, `acknowledged` after each group with an ack in it. */
  constructor(producer: BrokerProducer, clock: Clock, done: (record: OutgoingRecord) => void, acknowledged: () => void) {
    this.#producer = producer;
    this.#clock = clock;
    this.#done = done;
    this.#acknowledged = acknowledged;
  }

  add(entry: Entry): void {
    this.#waiting.push(entry);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Resolves when nothing waits and nothing is in flight. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    await this.#clock.sleep(GATHER_MS);
    while (this.#next < this.#waiting.length) {
      const group = this.#handOver();
      if (group.length === 0) {
        if (this.#next < this.#waiting.length) await this.#clock.sleep(FULL_RETRY_MS);
        continue;
      }
      this.#settle(group, await this.#failures(group));
    }
    this.#waiting = [];
    this.#next = 0;
  }

  #handOver(): Entry[] {
    const group: Entry[] = [];
    while (this.#next < this.#waiting.length && group.length < MAX_GROUP_RECORDS) {
      const entry = this.#waiting[this.#next];
      if (entry === undefined) break;
      if (entry.request.answered) {
        // Its caller was told that it was withdrawn: it must not be written any more.
        this.#next += 1;
        this.#done(entry.record);
        continue;
      }
      const handed = this.#producer.hand(entry.record);
      if (handed.kind === 'full') break;
      this.#next += 1;
      if (handed.kind === 'taken') {
        entry.request.handed(entry.index);
        group.push(entry);
      } else {
        entry.request.settle(entry.index, { kind: handed.own ? 'refused' : 'withdrawn', reason: handed.reason });
        this.#done(entry.record);
      }
    }
    if (this.#next > MAX_GROUP_RECORDS) {
      this.#waiting = this.#waiting.slice(this.#next);
      this.#next = 0;
    }
    return group;
  }

  async #failures(group: readonly Entry[]): Promise<readonly FailedRecord[]> {
    try {
      return await this.#producer.settle();
    } catch (error) {
      // The flush itself broke: of no record of this group is anything known.
      const reason = error instanceof Error ? error.message : String(error);
      return group.map(({ record: { topic, key, value } }) => ({ topic, key, value, reason, certain: false, own: false }));
    }
  }

  #settle(group: readonly Entry[], failures: readonly FailedRecord[]): void {
    const failed = failures.length === 0 ? undefined : match(group, failures);
    for (const entry of group) {
      const fault = failed?.get(entry);
      if (fault === undefined) entry.request.acknowledge(entry.index);
      else if (fault.own) entry.request.settle(entry.index, { kind: 'refused', reason: fault.reason });
      else entry.request.settle(entry.index, { kind: fault.certain ? 'withdrawn' : 'unknown', reason: fault.reason });
      this.#done(entry.record);
    }
    if ((failed?.size ?? 0) < group.length) this.#acknowledged();
  }
}

/** Finds the entries that failed by their bytes. Which of two equal records failed makes no difference: one of them is in the log. */
function match(group: readonly Entry[], failures: readonly FailedRecord[]): Map<Entry, FailedRecord> {
  const byBytes = new Map<string, Entry[]>();
  for (const entry of group) {
    const key = identity(entry.record);
    const same = byBytes.get(key);
    if (same === undefined) byBytes.set(key, [entry]);
    else same.push(entry);
  }
  const failed = new Map<Entry, FailedRecord>();
  for (const failure of failures) {
    const entry = byBytes.get(identity(failure))?.pop();
    // A failure that belongs to no record of the group must not leave its real owner acknowledged: then nothing is certain.
    if (entry === undefined) return new Map(group.map((each) => [each, { ...failure, certain: false, own: false }]));
    failed.set(entry, failure);
  }
  return failed;
}

function identity(record: { topic: string; key: Buffer | null; value: Buffer | null }): string {
  return `${record.topic}\n${record.key?.toString('latin1') ?? 'null'}\n${record.value?.toString('latin1') ?? 'null'}`;
}
