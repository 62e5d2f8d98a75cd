import { partitionKey, type TopicPartition } from '../records.ts';
import { backoffMs } from '../recover/backoff.ts';
import type { KeptPosition } from '../recover/position-record.ts';
import type { PositionsPort, ReadPositions } from '../recover/positions-log.ts';
import type { LoopContext } from './loop-context.ts';

/** One partition's position is written this often at most, while it moves. */
const INTERVAL_MS = 60_000;
const WRITE_MS = 10_000;
/** A lane that has a commit opens by it when the reading takes longer. */
const READ_MS = 10_000;

/** What a reading came to. */
export type KeptReading =
  | { readonly kind: 'read'; readonly positions: ReadPositions['positions'] }
  | { readonly kind: 'unread'; readonly cause: unknown };

interface Entry {
  /** What the broker has confirmed of a commit, or where the lane began. */
  now: KeptPosition;
  /** What the topic is known to hold. */
  kept: KeptPosition | undefined;
  dueMs: number;
}

/**
 * Keeps a group's positions a second time. Beside the data path: what can not be written is tried again and counted, and holds up no lane. A position
 * is never ahead of the commit that it follows, except where a new group begins.
 */
export class KeptPositions {
  readonly #context: LoopContext;
  readonly #port: PositionsPort;
  readonly #entries = new Map<string, Entry>();
  /** A reading that has not begun: shared by all lanes that ask before it does. */
  #next: Promise<KeptReading> | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #writing: Promise<void> | undefined;
  #failures = 0;
  #retryAtMs = 0;

  constructor(context: LoopContext, port: PositionsPort) {
    this.#context = context;
    this.#port = port;
  }

  /** All that is kept, by a reading begun after the call. Never rejects, and answers in time also when the reading does not. */
  async read(): Promise<KeptReading> {
    this.#next ??= this.#readBehind(this.#reading);
    const { clock } = this.#context;
    const timer = new AbortController();
    const late = clock.sleep(READ_MS, timer.signal).then((): KeptReading => ({ kind: 'unread', cause: new SlowReading() }));
    const reading = await Promise.race([this.#next, late]);
    timer.abort();
    return reading;
  }

  /** The group's first position, which must be durable before a record is read. Rejects when it can not be written. */
  async writeFirst(position: KeptPosition): Promise<void> {
    const first = { ...position, first: true } as const;
    await this.#port.write([first], WRITE_MS);
    this.#told('written', 1);
    this.#entries.set(partitionKey(position), { now: first, kept: first, dueMs: 0 });
  }

  /** A lane begins here; `kept` is what the topic held of it when it was opened. */
  begin(position: KeptPosition, kept: KeptPosition | undefined): void {
    const key = partitionKey(position);
    const known = kept ?? this.#entries.get(key)?.kept;
    this.#entries.set(key, { now: isSame(position, known) ? known : position, kept: known, dueMs: 0 });
  }

  /** The broker has confirmed a commit. */
  committed(position: KeptPosition): void {
    const entry = this.#entries.get(partitionKey(position));
    if (entry === undefined) this.#entries.set(partitionKey(position), { now: position, kept: undefined, dueMs: 0 });
    else if (!isSame(position, entry.now)) entry.now = position;
  }

  /** The next commit is told at once: it passes what is gone, and nothing may come behind that for long. */
  hurry(tp: TopicPartition): void {
    const entry = this.#entries.get(partitionKey(tp));
    if (entry !== undefined) entry.dueMs = 0;
  }

  /** The partition was taken away: what its next owner has written since must not be overwritten. */
  forget(tp: TopicPartition): void {
    this.#entries.delete(partitionKey(tp));
  }

  /** Writes what is due. That of a partition which was given back is due as soon as its last commit is answered. */
  turn(nowMs: number): void {
    if (nowMs < this.#retryAtMs) return;
    const { lanes, unconfirmed } = this.#context;
    this.#write((key, { dueMs }) => nowMs >= dueMs || !(lanes.has(key) || unconfirmed.has(key)));
  }

  /** Writes what has moved, as far as the time goes. Never rejects. */
  async flush(withinMs: number): Promise<void> {
    const timer = new AbortController();
    const all = async (): Promise<void> => {
      await this.#writing;
      this.#write(() => true);
      await this.#writing;
    };
    await Promise.race([all(), this.#context.clock.sleep(withinMs, timer.signal)]);
    timer.abort();
  }

  #readBehind(before: Promise<unknown>): Promise<KeptReading> {
    const reading = before.then(async (): Promise<KeptReading> => {
      this.#next = undefined;
      try {
        const { positions, unreadable } = await this.#port.read();
        if (unreadable > 0) this.#told('unreadable', unreadable);
        return { kind: 'read', positions };
      } catch (cause) {
        // Safe: a lane without a commit waits for the next reading, with this cause.
        this.#told('not-read', 1, cause);
        return { kind: 'unread', cause };
      }
    });
    this.#reading = reading;
    return reading;
  }

  /** One write at a time: an older position never comes behind a newer one. */
  #write(isDue: (key: string, entry: Entry) => boolean): void {
    if (this.#writing !== undefined) return;
    const due = [...this.#entries].filter(([key, entry]) => !isSame(entry.now, entry.kept) && isDue(key, entry));
    if (due.length === 0) return;
    const positions = due.map(([, { now }]) => now);
    this.#writing = this.#port.write(positions, WRITE_MS).then(
      () => {
        this.#writing = undefined;
        this.#failures = 0;
        const dueMs = this.#context.clock.nowMs() + INTERVAL_MS;
        for (const [i, [key, entry]] of due.entries()) {
          entry.kept = positions[i];
          entry.dueMs = dueMs;
          if (isSame(entry.now, entry.kept) && !this.#context.lanes.has(key) && this.#entries.get(key) === entry) this.#entries.delete(key);
        }
        this.#told('written', due.length);
      },
      (cause: unknown) => {
        // Safe: the commit stands, and what was not written is still due. Of a partition that was given back its next owner keeps it: tried again,
        // ours could come behind a newer one.
        for (const [key, entry] of due) if (!this.#context.lanes.has(key) && this.#entries.get(key) === entry) this.#entries.delete(key);
        this.#writing = undefined;
        this.#failures += 1;
        this.#retryAtMs = this.#context.clock.nowMs() + backoffMs(this.#context.options.backoff, this.#failures - 1);
        this.#told('not-written', due.length, cause);
      },
    );
  }

  #told(outcome: 'written' | 'not-written' | 'not-read' | 'unreadable', count: number, cause?: unknown): void {
    this.#context.observe({ kind: 'positions', outcome, count, cause });
  }
}

/** Whether both mean the same offset of the same life. */
function isSame(a: KeptPosition, b: KeptPosition | undefined): b is KeptPosition {
  return b !== undefined && a.incarnation === b.incarnation && a.nextToRead === b.nextToRead;
}

class SlowReading extends Error {
  constructor() {
    super(`the positions were not read within ${READ_MS / 1000} s`);
    this.name = 'SlowReading';
  }
}
