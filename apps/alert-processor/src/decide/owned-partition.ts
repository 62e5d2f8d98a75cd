import { type Batch, type Outcome, systemClock } from '@tailrace/kafka-kit';
import { decodeMessage } from '../messages/codec.ts';
import type { Message } from '../messages/message.ts';
import type { DeliveryOutcome, DeliveryPort } from '../notify/deliveries.ts';
import type { AlertState, StateRecord, Transition } from './alert-state.ts';
import type { Decider } from './decider.ts';
import { OwedSends } from './owed-sends.ts';
import { stateKey } from './state-codec.ts';
import type { Ownership, StateLog } from './state-log.ts';

export interface OwnedPorts {
  readonly log: Pick<StateLog, 'write' | 'isOurs'>;
  /** How far a broker's clock may step back. */
  readonly clockStepMs: number;
  readonly deliveries: Pick<DeliveryPort, 'deliver' | 'giveUp' | 'forget'>;
  readonly onMessage: (message: Message) => void;
  /** Told when a tick's states are acknowledged, and what they tell was handed over. */
  readonly onTicked: () => void;
  /** Each transition that was decided, once it is acknowledged. */
  readonly onTransition: (transition: Transition) => void;
  /** Another process has taken the partition over. */
  readonly onTaken: () => void;
  readonly onFault: (what: string, fault: unknown) => void;
}

export interface OwnedOptions {
  readonly decider: Decider;
  readonly ownership: Ownership;
  /** Where reading begins, and up to where the log must be read before anything is decided: what was decided upon before is known again then. */
  readonly startAt: number;
  readonly decideAt: number;
  /** Nothing before it is covered, but where the first record that is read is older: a time from a clock that was ahead must not keep it back. */
  readonly floorMs: number;
  /** The log begins later than what is needed: what was counted before its first record is not known. */
  readonly cut: boolean;
}

const STORED: Outcome = { kind: 'stored' };
const FOREIGN: Outcome = { kind: 'skipped', reason: 'no-message' };

/** On a revoke the next owner waits for it. */
const WRITING_ENDS_MS = 1000;

/** Expired records are looked for so often. */
const EXPIRE_MS = 60_000;

/** One partition of `alert-partials` for as long as this process decides about it: one tick at a time, and one write behind the other. */
export class OwnedPartition {
  readonly decider: Decider;
  readonly ownership: Ownership;
  readonly #ports: OwnedPorts;
  readonly #decideAt: number;
  readonly #owed: OwedSends;
  readonly #closed = new AbortController();
  #ended = false;
  readonly #floorMs: number;
  readonly #cut: boolean;
  #begun = false;
  #position: number;
  #ticking = false;
  #writing: Promise<void> = Promise.resolve();
  #expiredMs = 0;
  #tickedMs: number | undefined;
  /** Every window before it is decided, and what came of it is acknowledged. */
  #settledMs: number | undefined;
  #keptMs: number | null;

  constructor({ decider, ownership, startAt, decideAt, floorMs, cut }: OwnedOptions, ports: OwnedPorts) {
    this.decider = decider;
    this.ownership = ownership;
    this.#ports = ports;
    this.#position = startAt;
    this.#decideAt = decideAt;
    this.#floorMs = floorMs;
    this.#cut = cut;
    this.#settledMs = decider.settledMs;
    this.#keptMs = decider.settledMs ?? null;
    this.#owed = new OwedSends(ports.deliveries);
    for (const state of decider.states()) this.#owed.add(state);
  }

  /** Whether it is read up to where it was when it was taken over: before that nothing is decided. */
  get ready(): boolean {
    return this.#position >= this.#decideAt;
  }

  /** Up to when the partition is decided, with what came of it acknowledged. */
  get settledMs(): number | undefined {
    return this.#settledMs;
  }

  /**
   * Writes up to when the partition is decided, with what came of it acknowledged; nothing where that did not move. Also behind the end: the commit of
   * a revoke comes last.
   */
  async keep(signal: AbortSignal): Promise<void> {
    const watermarkMs = this.#settledMs ?? null;
    if (watermarkMs === this.#keptMs) return;
    const { partition, epoch, owner } = this.ownership;
    await this.#write([{ kind: 'partition', partition, watermarkMs, epoch, owner }], [], signal);
    this.#keptMs = watermarkMs;
  }

  take(batch: Batch): Outcome[] {
    const outcomes: Outcome[] = [];
    if (!this.#begun) {
      const firstMs = batch.timestampMs(0);
      this.decider.readsFrom(this.#cut ? firstMs : Math.min(this.#floorMs, firstMs + this.#ports.clockStepMs));
    }
    this.#begun = true;
    for (let i = 0; i < batch.length; i++) {
      const message = read(batch.value(i));
      if (message !== undefined) {
        this.decider.accept(message, batch.timestampMs(i));
        this.#ports.onMessage(message);
      }
      outcomes.push(message === undefined ? FOREIGN : STORED);
    }
    this.#position = batch.offset(batch.length - 1) + 1;
    return outcomes;
  }

  /** Decides, unless it is too early, or the tick before is not written yet. Resolves when it is; never rejects. */
  async tick(nowMs: number): Promise<void> {
    if (this.#ticking || !this.ready || this.#ended) return;
    this.#ticking = true;
    try {
      await this.#tick(nowMs);
    } catch (fault) {
      if (!this.#ended) this.#ports.onFault('decide', fault);
    } finally {
      this.#ticking = false;
    }
  }

  /** Whether the notification is this partition's. */
  owes(key: string, channel: string): boolean {
    return this.#owed.has(key, channel);
  }

  /** What became of a try. It is written behind everything that is being written now. */
  told(key: string, channel: string, outcome: DeliveryOutcome, attempts: number, nowMs: number): void {
    if (outcome.kind !== 'retry') this.#owed.settle(key, channel);
    const state = this.decider.delivered(key, channel, outcome, attempts, nowMs);
    if (state === undefined) return;
    this.#write([state], []).catch((fault: unknown) => {
      // Given up with the partition: whoever has it now tells it again, under the same key.
      if (!this.#ended) this.#ports.onFault('write what was told', fault);
    });
  }

  /**
   * What the log held, where it was lost under this owner: to be written by the next one, of whose epoch it is then. `kept`: what stands in the log
   * by now; what others than this owner wrote is left as it is.
   */
  lostRecords({ epoch, owner }: Ownership, kept: readonly StateRecord[]): readonly StateRecord[] {
    const { lost, partition, epoch: ownEpoch } = this.ownership;
    if (!lost) return [];
    const others = new Set(kept.filter((record) => record.epoch !== ownEpoch).map(stateKey));
    const watermarkMs = this.#settledMs ?? null;
    const held = this.decider.records().flatMap((record): StateRecord[] => (others.has(stateKey(record)) ? [] : [{ ...record, epoch }]));
    return [...held, { kind: 'partition', partition, watermarkMs, epoch, owner }];
  }

  /** Lets go: nothing more is decided or sent. What is being written may end within a moment, then it is given up. */
  async close(): Promise<void> {
    this.#ended = true;
    this.#owed.forget();
    const given = new AbortController();
    await Promise.race([this.#writing, systemClock.sleep(WRITING_ENDS_MS, given.signal)]);
    given.abort();
    this.#closed.abort();
    await this.#writing;
  }

  async #tick(nowMs: number): Promise<void> {
    const states: AlertState[] = this.decider.tick(nowMs);
    const { settledMs } = this.decider;
    const sinceMs = this.#tickedMs ?? nowMs - 1;
    this.#tickedMs = nowMs;
    const expires = nowMs - this.#expiredMs > EXPIRE_MS;
    if (expires) this.#expiredMs = nowMs;
    const records = [...this.decider.takeSilences(), ...states];
    const gone = expires ? this.decider.takeExpired(nowMs) : [];
    if (records.length > 0 || gone.length > 0) await this.#write(records, gone);
    if (this.#ended) return;
    this.#settledMs = settledMs;
    for (const state of states) {
      for (const transition of state.transitions) if (transition.atMs > sinceMs) this.#ports.onTransition(transition);
      this.#owed.add(state);
    }
    // Now and then also where nothing waits: a log that was made anew under us lacks everything that is known.
    if (this.#owed.isWaiting || expires) {
      if (!(await this.#behindWrites(() => this.#ports.log.isOurs(this.ownership)))) {
        this.#ports.onTaken();
        return;
      }
      if (!this.#ended) this.#owed.offer();
    }
    this.#ports.onTicked();
  }

  #write(records: readonly StateRecord[], gone: readonly StateRecord[], signal = this.#closed.signal): Promise<void> {
    return this.#behindWrites(() => this.#ports.log.write(this.ownership, records, gone, signal));
  }

  /** Does what must not overlap with a write, once those before it have ended. */
  #behindWrites<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#writing.then(work);
    this.#writing = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }
}

function read(value: Buffer | null): Message | undefined {
  try {
    return decodeMessage(value);
  } catch {
    return undefined; // Counted as skipped: nothing of ours is written so.
  }
}
