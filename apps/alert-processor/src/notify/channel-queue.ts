import { backoffMs, type Clock } from '@tailrace/kafka-kit';
import type { Delivery, DeliveryLimits, DeliveryOutcome, DeliveryReport } from './deliveries.ts';
import type { Notifier, SendOutcome } from './notifier.ts';

interface QueuePorts {
  readonly report: DeliveryReport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly limits: DeliveryLimits;
}

export interface ChannelView {
  readonly channel: string;
  /** Not sent yet, those on their way among them. */
  readonly held: number;
  /** When the oldest of them was decided. */
  readonly oldestMs: number | undefined;
  /** How many of the latest, one after the other, ended without being sent: refused or given up. */
  readonly untold: number;
}

interface Entry {
  readonly delivery: Delivery;
  attempts: number;
  /** Tries of this process, which the backoff goes by. */
  tries: number;
  dueMs: number;
  /** While it is on its way. */
  flight: AbortController | undefined;
}

/** An aborted try that does not end by then is taken as ended: a notifier's fault must not take a place away for ever. */
const ABORTED_MS = 2000;

/** What one channel has to send: an incident's in their order, several incidents at a time, those due first before the others. */
export class ChannelQueue {
  readonly #notifier: Notifier;
  readonly #ports: QueuePorts;
  /** By incident, in the order in which they were taken. Only the first of each is tried. */
  readonly #lines = new Map<string, Entry[]>();
  #held = 0;
  #untold = 0;
  /** Places taken, those of forgotten tries that have not ended among them. */
  #sending = 0;
  /** The receiver asked for rest until then. */
  #restMs = 0;
  #wake: { readonly atMs: number; readonly cancel: AbortController } | undefined;
  #closed: (() => void) | 'open' | 'closed' = 'open';

  constructor(notifier: Notifier, ports: QueuePorts) {
    this.#notifier = notifier;
    this.#ports = ports;
  }

  take(delivery: Delivery): boolean {
    const { key, incident } = delivery.notification;
    const line = this.#lines.get(incident) ?? [];
    if (line.some((entry) => entry.delivery.notification.key === key)) return true;
    if (this.#closed !== 'open' || this.#held >= this.#ports.limits.held) return false;
    line.push({ delivery, attempts: delivery.attempts, tries: 0, dueMs: this.#ports.clock.nowMs(), flight: undefined });
    this.#lines.set(incident, line);
    this.#held += 1;
    this.#pump();
    return true;
  }

  forget(keys: ReadonlySet<string>): void {
    for (const [incident, line] of this.#lines) {
      for (const entry of line.filter(({ delivery }) => keys.has(delivery.notification.key))) {
        this.#drop(incident, entry);
        entry.flight?.abort();
      }
    }
    this.#pump();
  }

  /** Lets go of one delivery, which is not reported. Answers the tries so far; undefined where it is not held. */
  drop({ notification: { key, incident } }: Delivery): number | undefined {
    const entry = this.#lines.get(incident)?.find(({ delivery }) => delivery.notification.key === key);
    this.forget(new Set([key]));
    return entry?.attempts;
  }

  view(): ChannelView {
    let oldestMs: number | undefined;
    for (const line of this.#lines.values())
      for (const { delivery } of line) oldestMs = Math.min(oldestMs ?? Number.POSITIVE_INFINITY, delivery.notification.decidedMs);
    return { channel: this.#notifier.name, held: this.#held, oldestMs, untold: this.#untold };
  }

  /** Begins no further try; resolves when none is on its way. */
  close(): Promise<void> {
    this.#wake?.cancel.abort();
    return new Promise((resolve) => {
      this.#closed = this.#sending === 0 ? 'closed' : resolve;
      if (this.#sending === 0) resolve();
    });
  }

  /** Ends the tries that are on their way; they are not reported. */
  abort(): void {
    for (const [incident, line] of this.#lines) {
      for (const entry of [...line]) {
        this.#drop(incident, entry);
        entry.flight?.abort();
      }
    }
  }

  /** Begins what is due as long as there are places, and sets the alarm for what is due next. */
  #pump(): void {
    if (this.#closed !== 'open') return;
    const nowMs = this.#ports.clock.nowMs();
    while (this.#sending < this.#ports.limits.sends) {
      const entry = this.#next();
      if (entry === undefined) return;
      const atMs = Math.max(entry.dueMs, this.#restMs);
      if (atMs > nowMs) {
        this.#wakeAt(atMs);
        return;
      }
      this.#sending += 1;
      void this.#try(entry);
    }
  }

  /** Of the first of each incident the one that is due first, those on their way left out. */
  #next(): Entry | undefined {
    let next: Entry | undefined;
    for (const [entry] of this.#lines.values())
      if (entry !== undefined && entry.flight === undefined && (next === undefined || entry.dueMs < next.dueMs)) next = entry;
    return next;
  }

  #wakeAt(atMs: number): void {
    if (this.#wake !== undefined && this.#wake.atMs <= atMs) return;
    this.#wake?.cancel.abort();
    const wake = { atMs, cancel: new AbortController() };
    this.#wake = wake;
    void this.#ports.clock.sleep(atMs - this.#ports.clock.nowMs(), wake.cancel.signal).then(() => {
      if (wake.cancel.signal.aborted) return;
      this.#wake = undefined;
      this.#pump();
    });
  }

  async #try(entry: Entry): Promise<void> {
    const flight = new AbortController();
    entry.flight = flight;
    const outcome = await this.#send(entry.delivery, flight);
    this.#sending -= 1;
    // Forgotten or given back meanwhile: another owner tells what becomes of it.
    if (this.#lines.get(entry.delivery.notification.incident)?.includes(entry) === true) this.#settle(entry, outcome);
    if (typeof this.#closed === 'function' && this.#sending === 0) this.#closed();
    this.#pump();
  }

  #settle(entry: Entry, outcome: SendOutcome): void {
    const { report } = this.#ports;
    const { notification } = entry.delivery;
    entry.flight = undefined;
    entry.attempts += 1;
    entry.tries += 1;
    const told = outcome.kind === 'retry' ? this.#again(entry, outcome) : outcome;
    if (told.kind !== 'retry') {
      this.#untold = told.kind === 'sent' ? 0 : this.#untold + 1;
      this.#drop(notification.incident, entry);
    }
    report(entry.delivery, told, entry.attempts);
  }

  /** When the next try is; given up where that is too late. */
  #again(entry: Entry, outcome: Extract<SendOutcome, { kind: 'retry' }>): DeliveryOutcome {
    const { clock, limits, random } = this.#ports;
    const nowMs = clock.nowMs();
    const restMs = Math.min(Math.max(0, outcome.afterMs ?? 0), limits.retryAfterMs);
    entry.dueMs = nowMs + Math.max(restMs, backoffMs(limits.backoff, entry.tries - 1, random));
    this.#restMs = Math.max(this.#restMs, nowMs + restMs);
    const late = entry.dueMs >= entry.delivery.notification.decidedMs + limits.giveUpMs;
    return late ? { kind: 'given-up', reason: outcome.reason } : outcome;
  }

  /** One try, which ends: by itself, by the limit of a try, or because it is not wanted any more. */
  async #send({ notification }: Delivery, flight: AbortController): Promise<SendOutcome> {
    const { clock, limits } = this.#ports;
    const tryMs = this.#notifier.tryMs ?? limits.tryMs;
    const ended = new AbortController();
    let late = false;
    const send = async (): Promise<SendOutcome> => this.#notifier.send(notification, flight.signal);
    const sent = send().catch(
      // A fault of ours in one channel must end neither the process nor the alert.
      (error: unknown): SendOutcome => ({ kind: 'retry', reason: error instanceof Error ? error.message : String(error) }),
    );
    const ignored = clock.sleep(tryMs, AbortSignal.any([ended.signal, flight.signal])).then(async (): Promise<SendOutcome> => {
      late = !ended.signal.aborted && !flight.signal.aborted;
      if (late) flight.abort();
      await clock.sleep(ABORTED_MS, ended.signal);
      return { kind: 'retry', reason: '' };
    });
    const outcome = await Promise.race([sent, ignored]);
    ended.abort();
    return late && outcome.kind === 'retry' ? { kind: 'retry', reason: `no answer within ${tryMs / 1000} s` } : outcome;
  }

  #drop(incident: string, entry: Entry): void {
    const left = this.#lines.get(incident)?.filter((each) => each !== entry) ?? [];
    if (left.length === 0) this.#lines.delete(incident);
    else this.#lines.set(incident, left);
    this.#held -= 1;
  }
}
