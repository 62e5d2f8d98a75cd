import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '@tailrace/kafka-kit';
import type { LiveGuard } from './live-guard.ts';

/** Nothing more is to be sent: somebody has cancelled the run. */
export class Cancelled extends Error {}

export interface GovernorPorts {
  /** How many records the consumer has not read yet from its side channel. A throw is a fault of the moment. */
  unread(): Promise<number>;
  /** Whether anybody reads the side channel now. */
  isRead(): Promise<boolean>;
  isCancelled(): Promise<boolean>;
  /** Writes down how far the sending got. */
  save(): Promise<void>;
  readonly guard: LiveGuard;
  /** Told once for each reason, and when it is over. */
  note(sentence: string): void;
  nowMs(): number;
}

export interface GovernorLimits {
  readonly maxUnread: number;
  readonly bytesPerSecond: number;
  readonly consumer: string;
}

const TICK_MS = 1000;
/** What is free again is looked for this often while something waits. */
const WAIT_MS = 20;

/**
 * Says how fast a replay may send: so many bytes a second, so many unread records on the side channel, and nothing while a live group is late. Once a
 * second it looks at all that, and writes down how far the sending got.
 */
export class Governor {
  readonly #ports: GovernorPorts;
  readonly #limits: GovernorLimits;
  readonly #signal: AbortSignal;
  readonly #told = new Map<string, string>();
  #admitted = 0;
  #acknowledged = 0;
  /** Up to how many records may be admitted in all, by the last look; undefined before it. */
  #bound: number | undefined;
  #paused: string | undefined;
  #cancelled = false;
  #waitsForRoom = false;
  #bytesFree: number;
  #filledAtMs: number;

  constructor(ports: GovernorPorts, limits: GovernorLimits, signal: AbortSignal) {
    this.#ports = ports;
    this.#limits = limits;
    this.#signal = signal;
    this.#bytesFree = limits.bytesPerSecond;
    this.#filledAtMs = ports.nowMs();
  }

  /** Why nothing is sent now, in a few words; undefined while it is. */
  get waitsFor(): string | undefined {
    return [...this.#told.values()][0];
  }

  /** Looks once a second until the signal. */
  async run(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      await this.look();
      await systemClock.sleep(TICK_MS, until);
    }
  }

  /** One look. What can not be looked up is told once, and looked up again by the next one. */
  async look(): Promise<void> {
    await this.#trying('saving', () => this.#ports.save());
    await this.#trying('cancellation', async () => {
      this.#cancelled ||= await this.#ports.isCancelled();
    });
    await this.#trying('live groups', async () => {
      this.#paused = await this.#ports.guard.check();
      this.#tell('late', this.#paused);
    });
    await this.#trying('side channel', async () => {
      // What is on its way now may be in the log, or not yet: it counts as both.
      const acknowledged = this.#acknowledged;
      const unread = await this.#ports.unread();
      this.#bound = acknowledged + this.#limits.maxUnread - unread;
      await this.#tellWhetherRead(unread);
    });
  }

  acknowledged(records: number): void {
    this.#acknowledged += records;
  }

  /** Resolves when so much may be sent. Rejects with Cancelled, or by the signal. */
  async admit(records: number, bytes: number): Promise<void> {
    for (;;) {
      this.#signal.throwIfAborted();
      if (this.#cancelled) throw new Cancelled();
      const hasRoom = this.#bound !== undefined && this.#admitted + records <= this.#bound;
      this.#waitsForRoom = !hasRoom;
      if (hasRoom && this.#paused === undefined && this.#isFree()) break;
      await sleep(WAIT_MS, undefined, { signal: this.#signal });
    }
    this.#admitted += records;
    this.#bytesFree -= bytes;
  }

  /** A debt is paid first: one chunk may be larger than what a second allows. */
  #isFree(): boolean {
    const nowMs = this.#ports.nowMs();
    const { bytesPerSecond } = this.#limits;
    if (bytesPerSecond === Number.POSITIVE_INFINITY) return true;
    this.#bytesFree = Math.min(bytesPerSecond, this.#bytesFree + ((nowMs - this.#filledAtMs) / 1000) * bytesPerSecond);
    this.#filledAtMs = nowMs;
    return this.#bytesFree > 0;
  }

  async #tellWhetherRead(unread: number): Promise<void> {
    const { consumer, maxUnread } = this.#limits;
    // As long as there is room, a consumer that is away is nothing to wait for.
    const away = this.#waitsForRoom && unread > 0 && !(await this.#ports.isRead());
    this.#tell(
      'away',
      away
        ? `Nothing reads the side channel of ${consumer}, where ${unread} records wait (--max-unread ${maxUnread}): the replay goes on as soon as ${consumer} runs.`
        : undefined,
    );
  }

  async #trying(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#tell(what, undefined);
    } catch (fault) {
      this.#tell(what, `${fault instanceof Error ? fault.message : String(fault)} It is tried again.`);
    }
  }

  #tell(reason: string, sentence: string | undefined): void {
    const before = this.#told.has(reason);
    if (sentence === undefined) {
      if (before) this.#ports.note('The replay goes on.');
      this.#told.delete(reason);
      return;
    }
    this.#told.set(reason, sentence);
    if (!before) this.#ports.note(sentence);
  }
}
