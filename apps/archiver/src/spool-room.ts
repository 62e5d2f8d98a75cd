import type { Clock } from '@tailrace/kafka-kit';

/** A lane as far as the room in the spool is concerned. */
export interface RoomUser {
  /** Bytes of the object that takes in rows; 0 where there is none, or it is about to be closed. */
  openBytes(): number;
  /** Bytes of everything that it has in the spool. */
  heldBytes(): number;
  /** Closes the open object as soon as nothing is being taken in. */
  closeForRoom(): void;
}

/** Why nothing may be taken in. `disk`: somebody else filled it, and only people can free it. */
export interface Full {
  readonly of: 'limit' | 'disk';
  readonly sentence: string;
}

/** The disk below the spool. */
export interface SpoolDisk {
  readonly folder: string;
  freeBytes(): Promise<number>;
}

/** Whoever waits for room. */
export interface RoomWaiter {
  isOver(): boolean;
  /** Is told why, at the begin and at each further look. */
  waits(full: Full): void;
}

/** How often the room is looked at by those who wait for it: also without a change here others may have freed the disk. */
const LOOK_MS = 1_000;

/** Of the room, for objects that take in rows; the rest is for those that are closed and on their way into the lake. */
const OPEN_SHARE = 0.5;
/** On the disk beside what the largest object needs to be written once more as a Parquet file: others write there too. */
const DISK_SLACK_BYTES = 64 * 1024 * 1024;

/**
 * The bytes that all lanes together may have in the spool. Where the open objects take too much, the largest is closed; where all is
 * taken, nobody takes in more until an object stands in the lake. A closed object must always have the disk that it needs to become one:
 * a spool that filled the disk with rows would stand still for ever.
 */
export class SpoolRoom {
  readonly #maxBytes: number;
  readonly #disk: SpoolDisk;
  readonly #users = new Set<RoomUser>();
  /** One for all who wait: looking again and again must leave nothing behind. */
  #change: { readonly promise: Promise<void>; readonly tell: () => void } | undefined;

  constructor(maxBytes: number, disk: SpoolDisk) {
    this.#maxBytes = maxBytes;
    this.#disk = disk;
  }

  add(user: RoomUser): void {
    this.#users.add(user);
  }

  remove(user: RoomUser): void {
    this.#users.delete(user);
    this.changed();
  }

  /** Bytes were written or let go: what is due is closed, and whoever waits looks again. */
  changed(): void {
    this.#closeDownTo(this.#maxBytes * OPEN_SHARE);
    this.#change?.tell();
    this.#change = undefined;
  }

  /** Resolves when something may be taken in, or nobody waits any more. */
  async until(clock: Clock, waiter: RoomWaiter): Promise<void> {
    for (let full = await this.full(); full !== undefined && !waiter.isOver(); full = await this.full()) {
      waiter.waits(full);
      const looked = new AbortController();
      await Promise.race([this.change(), clock.sleep(LOOK_MS, looked.signal)]);
      looked.abort();
    }
  }

  /** Why nothing may be taken in now; undefined where something may. */
  async full(): Promise<Full | undefined> {
    const held = this.#sum((user) => user.heldBytes());
    if (held >= this.#maxBytes) return { of: 'limit', sentence: `the spool holds ${inMib(held)}, all that ARCHIVER_MAX_SPOOL_MB allows` };
    const largest = Math.max(0, ...[...this.#users].map((user) => user.heldBytes()));
    const free = await this.#disk.freeBytes();
    const needed = largest + DISK_SLACK_BYTES;
    if (free >= needed) return undefined;
    // What is open can only become free by being written.
    this.#closeDownTo(0);
    const { folder } = this.#disk;
    return {
      of: 'disk',
      sentence: `the disk of ${folder} (ARCHIVER_DATA_DIR) has ${inMib(free)} free, and ${Math.ceil(needed / 2 ** 20)} MiB are needed (its largest object once more, and ${inMib(DISK_SLACK_BYTES)}): free some`,
    };
  }

  /** Resolves at the next change. */
  async change(): Promise<void> {
    this.#change ??= signal();
    await this.#change.promise;
  }

  #closeDownTo(bytes: number): void {
    let open = this.#sum((user) => user.openBytes());
    for (const user of [...this.#users].sort((a, b) => b.openBytes() - a.openBytes())) {
      const own = user.openBytes();
      if (open <= bytes || own === 0) return;
      user.closeForRoom();
      open -= own;
    }
  }

  #sum(of: (user: RoomUser) => number): number {
    let sum = 0;
    for (const user of this.#users) sum += of(user);
    return sum;
  }
}

function signal(): { readonly promise: Promise<void>; readonly tell: () => void } {
  let tell: () => void = () => {};
  const promise = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return { promise, tell };
}

function inMib(bytes: number): string {
  return `${Math.floor(bytes / 2 ** 20)} MiB`;
}
