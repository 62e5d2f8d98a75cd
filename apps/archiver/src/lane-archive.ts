import { type Batch, type Outcome, STORED } from '@tailrace/kafka-kit';
import type { ChainId, LakeRecord, OffsetRange, RowFile } from '@tailrace/lake';
import { rawBytes, recordsFrom } from './batch-records.ts';
import { Abandoned, OutOfOrder } from './faults.ts';
import { firstLine } from './first-line.ts';
import { type NextRecord, type RotationCause, type RotationLimits, type Segment, segments } from './rotation.ts';
import { type ArchivePorts, type ClosedObject, type ClosedVoid, type Progress, storeObject, storeVoid } from './store-object.ts';
import { Turn } from './turn.ts';

/** Closed objects that may wait for the store before the lane takes in no more: a store that is away must not fill the disk. */
const MAX_WAITING_OBJECTS = 2;

interface OpenObject {
  readonly file: RowFile;
  readonly first: number;
  readonly firstTimestampMs: number;
}

interface Waiter {
  readonly last: number;
  readonly resolve: () => void;
  readonly reject: (cause: Error) => void;
}

/** What people see of one partition. */
export interface LaneArchiveView extends ChainId {
  readonly chainEnd: number;
  readonly spooledRows: number;
  readonly spoolBytes: number;
  readonly waitingObjects: number;
  /** How long the oldest closed object has been waiting for the lake; 0 where none does. */
  readonly waitingMs: number;
  /** Why the store step does not get on, while it does not. */
  readonly problem: string | undefined;
}

const look = (record: LakeRecord): NextRecord => ({ offset: record.offset, timestampMs: record.timestampMs, rawBytes: rawBytes(record) });

/** One owned partition: rows are gathered in an open object, closed objects are stored one after another, and batches wait for theirs. */
export class LaneArchive {
  readonly chain: ChainId;
  readonly #ports: ArchivePorts;
  readonly #limits: RotationLimits;
  /** Everything that changes the open object. */
  readonly #taking = new Turn();
  readonly #revoked = new AbortController();
  readonly #over = new AbortController();
  #watched: AbortSignal | undefined;
  /** Everything below is in the lake. */
  #end: number;
  /** The next offset to take in. */
  #next: number;
  #open: OpenObject | undefined;
  #lastTakenMs: number;
  #closed: ((ClosedObject | ClosedVoid) & { readonly closedMs: number })[] = [];
  #storing: Promise<void> | undefined;
  #waiters: Waiter[] = [];
  #room: (() => void)[] = [];
  #gone: Error | undefined;
  #problem: string | undefined;

  constructor(ports: ArchivePorts, limits: RotationLimits, chain: ChainId, end: number) {
    this.chain = chain;
    this.#limits = limits;
    this.#end = end;
    this.#next = end;
    this.#lastTakenMs = ports.clock.nowMs();
    this.#ports = {
      ...ports,
      observe: (event) => {
        if (event.kind === 'step-failed') this.#problem = firstLine(event.cause);
        else if (event.kind === 'object-stored' || event.kind === 'claim-met') this.#problem = undefined;
        ports.observe(event);
      },
    };
  }

  view(): LaneArchiveView {
    const files = [this.#open?.file, ...this.#closed.map(({ file }) => file)].filter((file) => file !== undefined);
    return {
      ...this.chain,
      chainEnd: this.#end,
      spooledRows: files.reduce((sum, file) => sum + (file.totals?.rows ?? 0), 0),
      spoolBytes: files.reduce((sum, file) => sum + file.fileBytes, 0),
      waitingObjects: this.#closed.length,
      waitingMs: this.#closed[0] === undefined ? 0 : this.#ports.clock.nowMs() - this.#closed[0].closedMs,
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

  /** The range holds no readable record: what is open ends before it, and the chain says so once this resolves. */
  async passVoid(range: OffsetRange): Promise<void> {
    await this.#taking.run(async () => {
      await this.#roomForOneMore();
      await this.#dropArchived();
      const first = Math.max(range.first, this.#next);
      // Somebody else's entries reach over it.
      if (first >= range.next) return;
      if (first > this.#next) throw new OutOfOrder(this.chain, this.#next, first);
      this.#closeOpen('void');
      this.#closed.push({ file: undefined, first, next: range.next, closedMs: this.#ports.clock.nowMs() });
      this.#next = range.next;
      this.#pump();
    });
    await this.#stored(range.next - 1);
  }

  /** Closes the open object when nothing was taken in for `idleMs`. */
  closeIdle(idleMs: number): void {
    if (this.#open === undefined || this.#ports.clock.nowMs() - this.#lastTakenMs < idleMs) return;
    void this.#taking.run(async () => {
      if (this.#ports.clock.nowMs() - this.#lastTakenMs >= idleMs) this.#closeOpen('idle');
    });
  }

  /** Before a stop: makes an object of what is open, and resolves when everything stands (or was given up). */
  async finish(): Promise<void> {
    await this.#taking.run(async () => this.#closeOpen('stop'));
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
    const files = [this.#open?.file, ...this.#closed.map(({ file }) => file)].filter((file) => file !== undefined);
    this.#open = undefined;
    this.#closed = [];
    const rows = files.reduce((sum, file) => sum + (file.totals?.rows ?? 0), 0);
    if (rows > 0) this.#ports.observe({ kind: 'abandoned', chain: this.chain, rows, cause });
    for (const waiter of this.#waiters.splice(0)) waiter.reject(cause);
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
    await this.#roomForOneMore();
    await this.#dropArchived();
    const records = recordsFrom(batch, this.#next);
    const [first] = records;
    if (first === undefined) return;
    if (first.offset !== this.#next) throw new OutOfOrder(this.chain, this.#next, first.offset);
    const last = batch.offset(batch.length - 1);
    if (last + 1 - first.offset !== records.length) throw new OutOfOrder(this.chain, first.offset + records.length, last + 1);
    await this.#append(segments(this.#openFacts(), records, look, this.#limits));
    this.#next = last + 1;
    this.#lastTakenMs = this.#ports.clock.nowMs();
    batch.release();
    this.#pump();
  }

  /** Resolves when the offset is in the lake; rejects when the lane ends before. */
  async #stored(last: number): Promise<void> {
    if (last < this.#end) return;
    if (this.#gone !== undefined) throw this.#gone;
    await new Promise<void>((resolve, reject) => this.#waiters.push({ last, resolve, reject }));
  }

  async #roomForOneMore(): Promise<void> {
    while (this.#closed.length >= MAX_WAITING_OBJECTS && this.#gone === undefined)
      await new Promise<void>((resolve) => this.#room.push(resolve));
    if (this.#gone !== undefined) throw this.#gone;
  }

  /** Somebody else extended the chain beyond everything taken in: what is open is in the lake already. */
  async #dropArchived(): Promise<void> {
    if (this.#end <= this.#next) return;
    const archived = this.#open;
    this.#open = undefined;
    this.#next = this.#end;
    await archived?.file.delete();
  }

  #openFacts() {
    if (this.#open === undefined) return undefined;
    const { file, first, firstTimestampMs } = this.#open;
    return { first, firstTimestampMs, rows: file.totals?.rows ?? 0, rawBytes: file.rawBytes };
  }

  /** Writes all runs, or leaves everything as it was: only then are objects closed and begun. */
  async #append(runs: readonly Segment<LakeRecord>[]): Promise<void> {
    const mark = this.#open?.file.mark();
    const begun: OpenObject[] = [];
    try {
      for (const { begins, records } of runs) {
        const [first] = records;
        if (begins && first !== undefined)
          begun.push({ file: await this.#ports.spool.rows(), first: first.offset, firstTimestampMs: first.timestampMs });
        await (begun.at(-1) ?? this.#open)?.file.append(records);
      }
    } catch (error) {
      if (mark !== undefined) this.#open?.file.rollBack(mark);
      for (const { file } of begun) await file.delete();
      throw error;
    }
    let place = 0;
    for (const { begins, closes } of runs) {
      if (!begins) continue;
      if (closes !== undefined) this.#closeOpen(closes);
      this.#open = begun[place++];
    }
  }

  #closeOpen(cause: RotationCause): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const { totals } = open.file;
    if (totals === undefined) return;
    this.#closed.push({ file: open.file, first: open.first, next: totals.lastOffset + 1, closedMs: this.#ports.clock.nowMs() });
    this.#ports.observe({ kind: 'object-closed', chain: this.chain, cause, rows: totals.rows });
    this.#pump();
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
      const progress: Progress = { claimed: false, unclaimed: this.#revoked.signal, all: this.#over.signal };
      try {
        this.#end = Math.max(this.#end, await this.#store(object, progress));
      } catch (error) {
        this.#failed(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      this.#closed.shift();
      this.#settle();
      for (const go of this.#room.splice(0)) go();
      // Its rows are in the lake: a file that can not be deleted must not end the lane.
      await object.file?.delete().catch((cause: unknown) => this.#ports.observe({ kind: 'cleanup-failed', chain: this.chain, cause }));
    }
  }

  async #store(object: ClosedObject | ClosedVoid, progress: Progress): Promise<number> {
    if (object.file === undefined) return await storeVoid(this.#ports, this.chain, object, this.#end, progress);
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

  #settle(): void {
    const done = this.#waiters.filter(({ last }) => last < this.#end);
    this.#waiters = this.#waiters.filter(({ last }) => last >= this.#end);
    for (const { resolve } of done) resolve();
  }
}
