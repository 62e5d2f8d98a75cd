import { type Batch, type Outcome, STORED } from '@tailrace/kafka-kit';
import type { ChainId, OffsetRange, RowFile } from '@tailrace/lake';
import { PROGRESS, type Step } from './archive-events.ts';
import type { ArchivePorts } from './archive-ports.ts';
import { recordsFrom } from './batch-records.ts';
import { Abandoned, OutOfOrder } from './faults.ts';
import { firstLine } from './first-line.ts';
import { Intake } from './intake.ts';
import type { LaneArchiveView } from './lane-archive-view.ts';
import { LaneLife } from './lane-life.ts';
import type { RotationLimits } from './rotation.ts';
import type { Full, RoomUser } from './spool-room.ts';
import type { ClosedHole } from './store-hole.ts';
import { rowsFrom } from './store-object.ts';
import { type Closed, StoreQueue } from './store-queue.ts';
import { TimeBarrier } from './time-barrier.ts';
import { Turn } from './turn.ts';

/** One owned partition: rows are gathered in an open object, closed objects are stored one after another, and batches wait for theirs. */
export class LaneArchive implements RoomUser {
  readonly chain: ChainId;
  readonly #ports: ArchivePorts;
  /** Everything that changes the open object. */
  readonly #taking = new Turn();
  readonly #life = new LaneLife();
  #watched: AbortSignal | undefined;
  readonly #queue: StoreQueue;
  /** The next offset to take in. */
  #next: number;
  readonly #intake: Intake;
  readonly #barrier: TimeBarrier;
  #lastTakenMs: number;
  /** The open object is to be closed as soon as nothing is being taken in. */
  #closeWanted = false;
  #toldAnew = false;
  #problem: string | undefined;
  #failedStep: Step | undefined;

  constructor(ports: ArchivePorts, limits: RotationLimits, chain: ChainId, end: number) {
    this.chain = chain;
    this.#next = end;
    this.#barrier = new TimeBarrier(chain);
    this.#lastTakenMs = ports.clock.nowMs();
    ports.room.add(this);
    this.#intake = new Intake(ports.spool, limits, (closed, cause) => {
      this.#closeWanted = false;
      this.#queue.push(closed);
      if (closed.kind === 'rows') ports.observe({ kind: 'object-closed', chain, cause, rows: closed.file.totals?.rows ?? 0 });
    });
    this.#ports = {
      ...ports,
      observe: (event) => {
        if (event.kind === 'step-failed') this.#failed(event.step, firstLine(event.cause));
        else if (PROGRESS.has(event.kind)) this.#failed(undefined, undefined);
        ports.observe(event);
      },
    };
    this.#queue = new StoreQueue(this.#ports, chain, end, this.#life, (cause) => this.#discardAside(cause));
  }

  view(): LaneArchiveView {
    const files = this.#files();
    const { end, waiting, attempt } = this.#queue;
    const nowMs = this.#ports.clock.nowMs();
    return {
      ...this.chain,
      chainEnd: end,
      spooledRows: files.reduce((sum, file) => sum + (file.totals?.rows ?? 0), 0),
      spoolBytes: this.heldBytes(),
      waitingObjects: waiting.length,
      attempt: attempt && { step: attempt.step, forMs: nowMs - attempt.sinceMs },
      waitingMs: waiting[0] === undefined ? 0 : nowMs - waiting[0].closedMs,
      problem: this.#problem,
      failedStep: this.#failedStep,
    };
  }

  #failed(step: Step | undefined, problem: string | undefined): void {
    this.#failedStep = step;
    this.#problem = problem;
  }

  /** Whether it has ended: nothing is taken in or written any more. */
  get isOver(): boolean {
    return this.#queue.gone !== undefined;
  }

  openBytes(): number {
    return this.#closeWanted ? 0 : (this.#intake.file?.fileBytes ?? 0);
  }

  heldBytes(): number {
    return this.#files().reduce((sum, file) => sum + file.fileBytes, 0);
  }

  closeForRoom(): void {
    this.#closeWanted = true;
    // A record that waits for room has its turn for as long as it waits: it closes the object itself.
    void this.#taking.run(async () => this.#closeIfWanted());
  }

  /** Takes the batch in, whole or not at all, and resolves when all of it is in the lake. `signal` ends the lane. */
  async write(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    this.#watch(signal);
    const last = batch.offset(batch.length - 1);
    await this.#taking.run(() => this.#take(batch));
    await this.#barrier.letsPass(last, (offset) => this.#queue.stored(offset));
    await this.#queue.stored(last);
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
    if (isNoted === false) await this.#declared(range);
  }

  /** The range is gone from the log: what is open ends before it, and the chain says so once this resolves. */
  async passLost(range: OffsetRange): Promise<void> {
    await this.#pass(range, (hole) => this.#closeBefore({ kind: 'lost', ...hole }));
    await this.#declared(range);
  }

  /**
   * The topic was made anew. `provenEnd`: everything below was delivered before a look-up began that gave this lane's id. What lies at or
   * above may be the new topic's, and is cut off; resolves when the rest stands in the lake. Nothing is taken in any more.
   */
  async endLife(provenEnd: number): Promise<void> {
    const cutAt = this.#life.end(Math.max(provenEnd, this.#queue.end));
    const cutRows = await this.#taking.run(async () => {
      this.#intake.close('recreated');
      return this.#queue.waiting.reduce((sum, each) => (each.kind === 'rows' ? sum + rowsFrom(each, cutAt) : sum), 0);
    });
    await this.#queue.drained();
    if (this.#queue.gone !== undefined) throw this.#queue.gone;
    // It may be told again: the alarm is one.
    if (this.#toldAnew) return;
    this.#toldAnew = true;
    this.#ports.observe({ kind: 'topic-made-anew', chain: this.chain, end: this.#queue.end, cutRows });
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
    await this.#queue.drained();
  }

  /** Before a revoke: an object whose claim stands is written; the rest is given up, and read again by the next owner. */
  async giveUp(): Promise<void> {
    await this.#queue.revoke();
    await this.discard(new Abandoned(this.chain, 'the partition goes to another archiver'));
  }

  /** Ends the lane: whoever waits is told why, and its files are deleted. */
  async discard(cause: Error): Promise<void> {
    this.#queue.finish(cause);
    this.#ports.room.remove(this);
    await this.#taking.run(async () => {});
    const open = this.#intake.drop();
    const files = [open, ...(await this.#queue.clear(cause)).map(fileOf)].filter((file) => file !== undefined);
    const rows = files.reduce((sum, file) => sum + (file.totals?.rows ?? 0), 0);
    if (rows > 0) this.#ports.observe({ kind: 'abandoned', chain: this.chain, rows, cause });
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
    if (this.#barrier.stands) return;
    const records = recordsFrom(batch, this.#next);
    const [first] = records;
    if (first === undefined) return;
    if (first.offset !== this.#next) throw new OutOfOrder(this.chain, this.#next, first.offset);
    const last = batch.offset(batch.length - 1);
    if (last + 1 - first.offset !== records.length) throw new OutOfOrder(this.chain, first.offset + records.length, last + 1);
    const taken = this.#barrier.before(records);
    await this.#intake.append(taken);
    this.#next = first.offset + taken.length;
    this.#lastTakenMs = this.#ports.clock.nowMs();
    if (this.#barrier.stands) return this.#intake.close('halt');
    batch.release();
    this.#ports.room.changed();
  }

  /** Goes on behind offsets without rows, in turn with what is taken in; `note` is not called where somebody else's entries reach over them. */
  async #pass<T>(range: OffsetRange, note: (hole: OffsetRange) => T): Promise<T | undefined> {
    const passed = await this.#taking.run(async () => {
      await this.#mayTake();
      if (this.#barrier.stands) return undefined;
      const first = Math.max(range.first, this.#next);
      if (first >= range.next) return undefined;
      if (first > this.#next) throw new OutOfOrder(this.chain, this.#next, first);
      this.#next = range.next;
      return note({ first, next: range.next });
    });
    await this.#barrier.letsPass(range.next - 1, (offset) => this.#queue.stored(offset));
    return passed;
  }

  /**
   * Resolves when the chain says so, and rejects when it can not: then the lane is opened again. Where the topic seems to be another one it
   * does not wait: the store step does, for being told so, and nobody tells anything more before this call has ended.
   */
  async #declared({ next }: OffsetRange): Promise<void> {
    await Promise.race([this.#queue.stored(next - 1), this.#life.doubted]);
  }

  /** Waits until something more may be taken in. */
  async #mayTake(): Promise<void> {
    await this.#queue.roomForOneMore();
    await this.#roomInSpool();
    if (this.#life.cutAt !== undefined) throw new Abandoned(this.chain, 'the topic was made anew');
    await this.#dropArchived();
  }

  async #roomInSpool(): Promise<void> {
    const { room, clock, observe } = this.#ports;
    let told: string | undefined;
    let isShort = false;
    const waits = ({ of, sentence }: Full): void => {
      if (of === 'disk' && !isShort) {
        isShort = true;
        observe({ kind: 'disk-short', chain: this.chain, sentence });
      }
      // What the store step has to say comes first.
      if (this.#problem === undefined || this.#problem === told) this.#problem = sentence;
      told = sentence;
      this.#closeIfWanted();
    };
    try {
      await room.until(clock, { isOver: () => this.#queue.gone !== undefined, waits });
    } finally {
      if (this.#problem === told) this.#problem = undefined;
      if (isShort) observe({ kind: 'disk-enough', chain: this.chain });
    }
    if (this.#queue.gone !== undefined) throw this.#queue.gone;
  }

  #closeIfWanted(): void {
    if (!this.#closeWanted) return;
    this.#closeWanted = false;
    this.#intake.close('room');
  }

  /** Somebody else extended the chain beyond everything taken in: what is open is in the lake already. */
  async #dropArchived(): Promise<void> {
    if (this.#queue.end <= this.#next) return;
    this.#next = this.#queue.end;
    await this.#intake.drop()?.delete();
  }

  /** Ends the open object where there are offsets without rows behind it. */
  #closeBefore(hole: ClosedHole): void {
    this.#intake.close(hole.kind);
    this.#queue.push(hole);
  }

  #files(): RowFile[] {
    return [this.#intake.file, ...this.#queue.waiting.map(fileOf)].filter((file) => file !== undefined);
  }

  /** Not awaited: `discard` waits for the storing that may have called this. */
  #discardAside(cause: Error): void {
    void this.discard(cause).catch((fault: unknown) => this.#ports.observe({ kind: 'cleanup-failed', chain: this.chain, cause: fault }));
  }
}

function fileOf(closed: Closed): RowFile | undefined {
  return closed.kind === 'rows' ? closed.file : undefined;
}
