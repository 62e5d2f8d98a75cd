import type { ChainId } from '@tailrace/lake';
import type { ArchivePorts } from './archive-ports.ts';
import type { LaneLife } from './lane-life.ts';
import type { Attempt, Progress } from './steps.ts';
import { type ClosedHole, storeHole } from './store-hole.ts';
import { type ClosedRows, storeObject } from './store-object.ts';
import { Waiters } from './waiters.ts';

/** Closed objects that may wait for the store before the lane takes in no more: a store that is away must not fill the disk. */
const MAX_WAITING_OBJECTS = 2;

export type Closed = (ClosedRows | ClosedHole) & { readonly closedMs: number };

/** What one partition has closed, on its way into the lake: one after another, in the order of offsets. */
export class StoreQueue {
  readonly #ports: ArchivePorts;
  readonly #chain: ChainId;
  readonly #life: LaneLife;
  /** Is told when nothing behind an object can be stored any more. */
  readonly #failed: (cause: Error) => void;
  readonly #revoked = new AbortController();
  readonly #over = new AbortController();
  readonly #waiters = new Waiters();
  #end: number;
  #closed: Closed[] = [];
  #storing: Promise<void> | undefined;
  #room: (() => void)[] = [];
  #attempt: Attempt | undefined;
  #gone: Error | undefined;

  constructor(ports: ArchivePorts, chain: ChainId, end: number, life: LaneLife, failed: (cause: Error) => void) {
    this.#ports = ports;
    this.#chain = chain;
    this.#end = end;
    this.#life = life;
    this.#failed = failed;
  }

  /** Everything below is in the lake. */
  get end(): number {
    return this.#end;
  }

  /** Why nothing is stored any more. */
  get gone(): Error | undefined {
    return this.#gone;
  }

  get waiting(): readonly Closed[] {
    return this.#closed;
  }

  get attempt(): Attempt | undefined {
    return this.#attempt;
  }

  push(closed: ClosedRows | ClosedHole): void {
    this.#closed.push({ ...closed, closedMs: this.#ports.clock.nowMs() });
    this.#pump();
  }

  /** Resolves when the offset is in the lake; rejects when the lane ends before. */
  async stored(offset: number): Promise<void> {
    if (offset < this.#end) return;
    if (this.#gone !== undefined) throw this.#gone;
    await this.#waiters.until(offset);
  }

  async roomForOneMore(): Promise<void> {
    while (this.#closed.filter(({ kind }) => kind === 'rows').length >= MAX_WAITING_OBJECTS && this.#gone === undefined)
      await new Promise<void>((resolve) => this.#room.push(resolve));
    if (this.#gone !== undefined) throw this.#gone;
  }

  /** Resolves when everything that was closed stands, or was given up. */
  async drained(): Promise<void> {
    while (this.#storing !== undefined) await this.#storing;
  }

  /** From now on nothing new is claimed; an object whose claim stands is still written, and waited for. */
  async revoke(): Promise<void> {
    this.#revoked.abort();
    await this.#storing;
  }

  /** Nothing is written any more, and who waits for room is told. */
  finish(cause: Error): void {
    this.#gone ??= cause;
    this.#revoked.abort();
    this.#over.abort();
    for (const go of this.#room.splice(0)) go();
  }

  /** Gives up what is left, once nothing is under way. */
  async clear(cause: Error): Promise<readonly Closed[]> {
    await this.#storing;
    this.#waiters.rejectAll(cause);
    return this.#closed.splice(0);
  }

  #pump(): void {
    if (this.#storing !== undefined || this.#closed.length === 0 || this.#gone !== undefined || this.#revoked.signal.aborted) return;
    this.#storing = this.#storeAll().finally(() => {
      this.#storing = undefined;
      // An object that was closed after the last look would otherwise wait for the next one.
      this.#pump();
    });
  }

  async #storeAll(): Promise<void> {
    for (let object = this.#closed[0]; object !== undefined; object = this.#closed[0]) {
      try {
        this.#end = Math.max(this.#end, await this.#store(object));
      } catch (error) {
        if (!this.#revoked.signal.aborted) this.#failed(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      this.#closed.shift();
      this.#waiters.settle(this.#end);
      // Its rows are in the lake: a file that can not be deleted must not end the lane.
      if (object.kind === 'rows')
        await object.file.delete().catch((cause: unknown) => this.#ports.observe({ kind: 'cleanup-failed', chain: this.#chain, cause }));
      this.#ports.room.changed();
      for (const go of this.#room.splice(0)) go();
    }
  }

  async #store(object: Closed): Promise<number> {
    const progress: Progress = {
      claimed: false,
      unclaimed: this.#revoked.signal,
      all: this.#over.signal,
      life: this.#life,
      attempted: (attempt) => {
        this.#attempt = attempt;
      },
    };
    if (object.kind !== 'rows') return await storeHole(this.#ports, this.#chain, object, this.#end, progress);
    await object.file.close();
    return await storeObject(this.#ports, this.#chain, object, this.#end, progress);
  }
}
