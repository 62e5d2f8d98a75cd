import type { BrokerProducer, FailedRecord, Handed } from '../broker/broker-producer.ts';
import type { Clock } from '../time/clock.ts';
import type { OutgoingRecord, Published } from './contract.ts';
import { matchFailures } from './match-failures.ts';
import type { PublishRequest } from './request.ts';

/** One record of one request. */
export interface Entry {
  readonly request: PublishRequest;
  readonly index: number;
  readonly record: OutgoingRecord;
}

type Fault = Pick<FailedRecord, 'reason' | 'certain' | 'own'>;

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
  #running = false;
  #whenIdle: (() => void)[] = [];

  /** `done` is called once for every record that needs no memory any more, `acknowledged` after each group with an ack in it. */
  constructor(producer: BrokerProducer, clock: Clock, done: (record: OutgoingRecord) => void, acknowledged: () => void) {
    this.#producer = producer;
    this.#clock = clock;
    this.#done = done;
    this.#acknowledged = acknowledged;
  }

  add(entry: Entry): void {
    this.#waiting.push(entry);
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  /** Resolves when nothing waits and nothing is in flight. */
  async idle(): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  async #run(): Promise<void> {
    await this.#clock.sleep(GATHER_MS);
    while (this.#next < this.#waiting.length) {
      const group = this.#takeGroup();
      if (group.length > 0) await this.#commit(group);
      else if (this.#next < this.#waiting.length) await this.#clock.sleep(FULL_RETRY_MS);
    }
    // In the turn of the last look, or a record that is added before it took effect would wait for the next one.
    this.#running = false;
    this.#waiting = [];
    this.#next = 0;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #takeGroup(): Entry[] {
    const group: Entry[] = [];
    while (this.#next < this.#waiting.length && group.length < MAX_GROUP_RECORDS) {
      const entry = this.#waiting[this.#next];
      if (entry === undefined) break;
      // Its caller was told that it was withdrawn: it must not be written any more.
      if (entry.request.answered) this.#done(entry.record);
      else {
        const handed = this.#hand(entry);
        if (handed === 'full') break;
        if (handed === 'taken') group.push(entry);
      }
      this.#next += 1;
    }
    if (this.#next > MAX_GROUP_RECORDS) {
      this.#waiting = this.#waiting.slice(this.#next);
      this.#next = 0;
    }
    return group;
  }

  /** Hands one record over; one that the client does not take has its answer. */
  #hand(entry: Entry): Handed['kind'] {
    const handed = this.#handRecord(entry.record);
    if (handed.kind === 'taken') entry.request.handed(entry.index);
    else if (handed.kind === 'fault') this.#settle(entry, handed);
    return handed.kind;
  }

  #handRecord(record: OutgoingRecord): Handed {
    try {
      return this.#producer.hand(record);
    } catch (error) {
      // A client that throws must not end the run: everything that waits would wait for ever.
      return { kind: 'fault', reason: error instanceof Error ? error.message : String(error), certain: false, own: false };
    }
  }

  /** Waits for the group and answers it. */
  async #commit(group: readonly Entry[]): Promise<void> {
    const failures = await this.#failures(group);
    const suspects: Entry[] = [];
    let acknowledged = false;
    for (const entry of group) {
      const fault = failures.get(entry);
      if (fault?.own && group.length > 1) {
        suspects.push(entry);
        continue;
      }
      acknowledged ||= fault === undefined;
      this.#settle(entry, fault);
    }
    if (acknowledged) this.#acknowledged();
    if (suspects.length > 0) await this.#sift(suspects);
  }

  /**
   * The broker refuses a whole batch for one record of it. Those that were refused together are sent again by halves, until what
   * is refused is refused alone: its neighbours must not pay for it.
   */
  async #sift(suspects: readonly Entry[]): Promise<void> {
    const middle = Math.ceil(suspects.length / 2);
    for (const half of [suspects.slice(0, middle), suspects.slice(middle)]) {
      const group: Entry[] = [];
      for (const entry of half) {
        if (entry.request.answered) {
          this.#done(entry.record);
          continue;
        }
        let handed = this.#hand(entry);
        while (handed === 'full') {
          await this.#clock.sleep(FULL_RETRY_MS);
          handed = this.#hand(entry);
        }
        if (handed === 'taken') group.push(entry);
      }
      if (group.length > 0) await this.#commit(group);
    }
  }

  async #failures(group: readonly Entry[]): Promise<ReadonlyMap<Entry, Fault>> {
    try {
      const failures = await this.#producer.settle();
      return failures.length === 0 ? new Map() : matchFailures(group, failures);
    } catch (error) {
      // The flush itself broke: of no record of this group is anything known.
      const fault = { reason: error instanceof Error ? error.message : String(error), certain: false, own: false };
      return new Map(group.map((entry) => [entry, fault]));
    }
  }

  #settle(entry: Entry, fault: Fault | undefined): void {
    entry.request.settle(entry.index, fate(fault));
    this.#done(entry.record);
  }
}

function fate(fault: Fault | undefined): Published {
  if (fault === undefined) return { kind: 'acknowledged' };
  if (fault.own) return { kind: 'refused', reason: fault.reason };
  return { kind: fault.certain ? 'withdrawn' : 'unknown', reason: fault.reason };
}
