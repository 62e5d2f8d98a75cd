import { type Batch, type Outcome, STORED } from '@tailrace/kafka-kit';
import { type ChainId, type OffsetRange, offsetsIn, type RowFile, within } from '@tailrace/lake';
import type { ArchiveEvent } from './archive-events.ts';
import type { ArchivePorts } from './archive-ports.ts';
import { recordsFrom } from './batch-records.ts';
import { Abandoned, OutOfOrder } from './faults.ts';
import { firstLine } from './first-line.ts';
import { Intake } from './intake.ts';
import type { LaneArchiveView } from './lane-archive-view.ts';
import { LaneLife } from './lane-life.ts';
import type { RotationLimits } from './rotation.ts';
import type { Progress } from './steps.ts';
import { type ClosedHole, storeHole } from './store-hole.ts';
import { type ClosedRows, storeObject } from './store-object.ts';
import { Turn } from './turn.ts';
import { Waiters } from './waiters.ts';

/** Closed objects that may wait for the store before the lane takes in no more: a store that is away must not fill the disk. */
const MAX_WAITING_OBJECTS = 2;

type Closed = (ClosedRows | ClosedHole) & { readonly closedMs: number };

/** Events that say that the store step gets on. */
const PROGRESS: ReadonlySet<ArchiveEvent['kind']> = new Set([
  'object-stored',
  'claim-met',
  'void-declared',
  'loss-declared',
  'topic-made-anew',
]);

/** One owned partition: rows are gathered in an open object, closed objects are stored one after another, and batches wait for theirs. */
export class LaneArchive {
  readonly chain: ChainId;
  readonly #ports: ArchivePorts;
  /** Everything that changes the open object. */
  readonly #taking = new Turn();
  readonly #revoked = new AbortController();
  readonly #over = new AbortController();
  readonly #life = new LaneLife();
  #watched: AbortSignal | undefined;
  /** Everything below is in the lake. */
  #end: number;
  /** The next offset to take in. */
  #next: number;
  readonly #intake: Intake;
  #lastTakenMs: number;
  #closed: Closed[] = [];
  #storing: Promise<void> | undefined;
  readonly #waiters = new Waiters();
  #room: (() => void)[] = [];
  #gone: Error | undefined;
  #problem: string | undefined;

  constructor(ports: ArchivePorts, limits: RotationLimits, chain: ChainId, end: number) {
    this.chain = chain;
    this.#end = end;
    this.#next = end;
    this.#lastTakenMs = ports.clock.nowMs();
    this.#intake = new Intake(ports.spool, limits, (closed, cause) => {
      this.#enqueue(closed);
      if (closed.kind === 'rows') ports.observe({ kind: 'object-closed', chain, cause, rows: closed.file.totals?.rows ?? 0 });
    });
    this.#ports = {
      ...ports,
      observe: (event) => {
        if (event.kind === 'step-failed') this.#problem = firstLine(event.cause);
        else if (PROGRESS.has(event.kind)) this.#problem = undefined;
        ports.observe(event);
      },
    };
  }

  view(): LaneArchiveView {
    const files = this.#files();
    const [oldest] = this.#closed;
    return {
      ...this.chain,
      chainEnd: this.#end,
      spooledRows: files.reduce((sum, file) => sum + (file.totals?.rows ?? 0), 0),
      spoolBytes: files.reduce((sum, file) => sum + file.fileBytes, 0),
      waitingObjects: this.#closed.length,
      waitingMs: oldest === undefined ? 0 : this.#ports.clock.nowMs() - oldest.closedMs,
      problem: this.#problem,
    };
  }

  /** Takes the batch in, whole or not at all, and resolves when all of it is in the lake. `signal` ends the lane. */
  async write(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    this.#watch(signal);
    const last = batch.offset(batch.length - 1);
    await this.#taking.run(() => this.#take(batch));
    await this.#stored(last);
    return Array.from({ length: batch.length }, () => STORED);
  }

  /**
   * The range holds no readable record. Between the rows of the open object it is noted there, to be read again when that is closed; else
   * the chain says so once this resolves.
   */
  async passVoid(range: OffsetRange): Promise<void> {
    const isNoted = await this.#pass(range, (hole) => {
      if (this.#intake.noteVoid(hole)) return true;
      this.#closeBefore({ kind: 'void', ...hole });
      return false;
    });
    // Told before: it is in turn already.
    if (isNoted === false) await this.#stored(range.next - 1);
  }

  /** The range is gone from the log: what is open ends before it, and the chain says so once this resolves. */
  async passLost(range: OffsetRange): Promise<void> {
    await this.#pass(range, (hole) => this.#closeBefore({ kind: 'lost', ...hole }));
    await this.#stored(range.next - 1);
  }

  /**
   * The topic was made anew. `provenEnd`: everything below was delivered before a look-up began that gave this lane's id. What lies at or
   * above may be the new topic's, and is cut off; resolves when the rest stands in the lake. Nothing is taken in any more.
   */
  async endLife(provenEnd: number): Promise<void> {
    const cutAt = this.#life.end(Math.max(provenEnd, this.#end));
    const cutRows = await this.#taking.run(async () => {
      this.#intake.close('recreated');
      return this.#closed.reduce((sum, each) => (each.kind === 'rows' ? sum + rowsFrom(each, cutAt) : sum), 0);
    });
    while (this.#storing !== undefined) await this.#storing;
    if (this.#gone !== undefined) throw this.#gone;
    this.#ports.observe({ kind: 'topic-made-anew', chain: this.chain, end: this.#end, cutRows });
  }

  /** Closes the open object when nothing was taken in for `idleMs`. */
  closeIdle(idleMs: number): void {
    if (this.#intake.file === undefined || this.#ports.clock.nowMs() - this.#lastTakenMs < idleMs) return;
    void this.#taking.run(async () => {
      if (this.#ports.clock.nowMs() - this.#lastTakenMs >= idleMs) this.#intake.close('idle');
    });
  }

  /** Before a stop: makes an object of what is open, and resolves when everything stands (or was given up). */
  async finish(): Promise<void> {
    await this.#taking.run(async () => this.#intake.close('stop'));
    while (this.#storing !== undefined) await this.#storing;
  }

  /** Before a revoke: an object whose claim stands is written; the rest is given up, and read again by the next owner. */
  async giveUp(): Promise<void> {
    this.#revoked.abort();
    await this.#storing;
    await this.discard(new Abandoned(this.chain, 'the partition goes to another archiver'));
  }

  /** Ends the lane: whoever waits is told why, and its files are deleted. */
  async discard(cause: Error): Promise<void> {
    this.#gone ??= cause;
    this.#revoked.abort();
    this.#over.abort();
    for (const go of this.#room.splice(0)) go();
    await this.#taking.run(async () => {});
    await this.#storing;
    const files = this.#files();
    this.#intake.drop();
    this.#closed = [];
    const rows = files.reduce((sum, file) => sum + (file.totals?.rows ?? 0), 0);
    if (rows > 0) this.#ports.observe({ kind: 'abandoned', chain: this.chain, rows, cause });
    this.#waiters.rejectAll(cause);
    for (const file of files) await file.delete();
  }

  /** The runtime ends a lane by aborting the signal of its writes: without a revoke, and after one that took too long. */
  #watch(signal: AbortSignal): void {
    if (this.#watched === signal) return;
    this.#watched = signal;
    const end = (): void => this.#discardAside(new Abandoned(this.chain, 'the partition was taken away'));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  }

  async #take(batch: Batch): Promise<void> {
    await this.#mayTake();
    const records = recordsFrom(batch, this.#next);
    const [first] = records;
    if (first === undefined) return;
    if (first.offset !== this.#next) throw new OutOfOrder(this.chain, this.#next, first.offset);
    const last = batch.offset(batch.length - 1);
    if (last + 1 - first.offset !== records.length) throw new OutOfOrder(this.chain, first.offset + records.length, last + 1);
    await this.#intake.append(records);
    this.#next = last + 1;
    this.#lastTakenMs = this.#ports.clock.nowMs();
    batch.release();
    this.#pump();
  }

  /** Goes on behind offsets without rows, in turn with what is taken in; `note` is not called where somebody else's entries reach over them. */
  async #pass<T>(range: OffsetRange, note: (hole: OffsetRange) => T): Promise<T | undefined> {
    return await this.#taking.run(async () => {
      await this.#mayTake();
      const first = Math.max(range.first, this.#next);
      if (first >= range.next) return undefined;
      if (first > this.#next) throw new OutOfOrder(this.chain, this.#next, first);
      this.#next = range.next;
      return note({ first, next: range.next });
    });
  }

  /** Waits until something more may be taken in. */
  async #mayTake(): Promise<void> {
    await this.#roomForOneMore();
    if (this.#life.cutAt !== undefined) throw new Abandoned(this.chain, 'the topic was made anew');
    await this.#dropArchived();
  }

  /** Resolves when the offset is in the lake; rejects when the lane ends before. */
  async #stored(last: number): Promise<void> {
    if (last < this.#end) return;
    if (this.#gone !== undefined) throw this.#gone;
    await this.#waiters.until(last);
  }

  async #roomForOneMore(): Promise<void> {
    while (this.#closed.filter(({ kind }) => kind === 'rows').length >= MAX_WAITING_OBJECTS && this.#gone === undefined)
      await new Promise<void>((resolve) => this.#room.push(resolve));
    if (this.#gone !== undefined) throw this.#gone;
  }

  /** Somebody else extended the chain beyond everything taken in: what is open is in the lake already. */
  async #dropArchived(): Promise<void> {
    if (this.#end <= this.#next) return;
    this.#next = this.#end;
    await this.#intake.drop()?.delete();
  }

  /** Ends the open object where there are offsets without rows behind it. */
  #closeBefore(hole: ClosedHole): void {
    this.#intake.close(hole.kind);
    this.#enqueue(hole);
  }

  #enqueue(closed: ClosedRows | ClosedHole): void {
    this.#closed.push({ ...closed, closedMs: this.#ports.clock.nowMs() });
    this.#pump();
  }

  #files(): RowFile[] {
    return [this.#intake.file, ...this.#closed.map((each) => (each.kind === 'rows' ? each.file : undefined))].filter(
      (file) => file !== undefined,
    );
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
      const progress: Progress = { claimed: false, unclaimed: this.#revoked.signal, all: this.#over.signal, life: this.#life };
      try {
        this.#end = Math.max(this.#end, await this.#store(object, progress));
      } catch (error) {
        this.#failed(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      this.#closed.shift();
      this.#waiters.settle(this.#end);
      for (const go of this.#room.splice(0)) go();
      // Its rows are in the lake: a file that can not be deleted must not end the lane.
      if (object.kind === 'rows')
        await object.file.delete().catch((cause: unknown) => this.#ports.observe({ kind: 'cleanup-failed', chain: this.chain, cause }));
    }
  }

  async #store(object: Closed, progress: Progress): Promise<number> {
    if (object.kind !== 'rows') return await storeHole(this.#ports, this.chain, object, this.#end, progress);
    await object.file.close();
    return await storeObject(this.#ports, this.chain, object, this.#end, progress);
  }

  /** Nothing behind this object can be stored: everybody who waits is told, so that the lane is opened again from the chain's end. */
  #failed(cause: Error): void {
    if (!this.#revoked.signal.aborted) this.#discardAside(cause);
  }

  /** Not awaited: `discard` waits for the storing that may have called this. */
  #discardAside(cause: Error): void {
    void this.discard(cause).catch((fault: unknown) => this.#ports.observe({ kind: 'cleanup-failed', chain: this.chain, cause: fault }));
  }
}

/** How many of its rows lie at or above `from`. */
function rowsFrom({ first, next, voids }: ClosedRows, from: number): number {
  const above = { first: Math.max(first, from), next };
  return Math.max(0, above.next - above.first) - offsetsIn(within(voids, above));
}
