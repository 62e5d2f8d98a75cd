import { type Batch, type Outcome, STORED } from '@tailrace/kafka-kit';
import type { Cell, LaneMark, RuleId, Source } from '../messages/message.ts';
import type { RuleSet } from '../rules/rule.ts';
import { decodeEvent, SKIPPED } from './decode-event.ts';
import { LanePanes } from './lane-panes.ts';
import { type LeftOut, LeftOutCounts } from './left-out.ts';

/** What one lane tells in one tick: cells first, and the mark once they are acknowledged. */
export interface LaneNews {
  /** Everything below it is in the cells. */
  readonly next: number;
  readonly cells: readonly Cell[];
  readonly mark: LaneMark;
  readonly leftOut: LeftOut;
  readonly rules: readonly RuleId[];
}

/** A batch that is counted and not published yet. */
interface Waiting {
  readonly end: number;
  readonly done: () => void;
  readonly giveUp: (fault: Error) => void;
}

/** The panes of one partition for as long as this process counts it, and the batches that wait until what they changed is published. */
export class LiveLane {
  readonly source: Source;
  readonly #panes: LanePanes;
  readonly #leftOut = new LeftOutCounts();
  #waiting: Waiting[] = [];
  #signal: AbortSignal | undefined;
  /** The offset behind everything that was counted; undefined before the lane has begun. */
  #next: number | undefined;
  /** Where the log ended when the lane was opened: as long as it is not reached, what was missed is being counted. */
  readonly #openedEnd: number;
  /** The watermark that stage 2 was told last. */
  markedMs: number | undefined;
  /** It reads no further: the end of its log means nothing any more. */
  halted = false;

  constructor(source: Source, rules: RuleSet, opened: { readonly fromMs: number; readonly logEnd: number }) {
    this.source = source;
    this.#panes = new LanePanes(source, rules, opened);
    this.#openedEnd = opened.logEnd;
  }

  get next(): number | undefined {
    return this.#next;
  }

  /** Whether all is counted that was in the log when the lane was opened. */
  get warm(): boolean {
    return this.#next !== undefined && this.#next >= this.#openedEnd;
  }

  begin(startAt: number): void {
    this.#next ??= startAt;
  }

  /** Offsets below `to` hold nothing more to read. */
  pass(to: number): void {
    this.#next = Math.max(this.#next ?? 0, to);
  }

  setRules(rules: RuleSet): void {
    this.#panes.setRules(rules);
  }

  /** Counts every record once. */
  fold(batch: Batch): Outcome[] {
    const outcomes = new Array<Outcome>(batch.length);
    const panes = this.#panes;
    const next = this.#next ?? 0;
    for (let i = 0; i < batch.length; i++) {
      const event = decodeEvent(batch, i);
      const skipped = typeof event === 'string';
      outcomes[i] = skipped ? SKIPPED[event] : STORED;
      const offset = batch.offset(i);
      // What is handed over again is counted already.
      // What is no time moves none.
      const brokerMs = event === 'no-broker-time' ? Number.NEGATIVE_INFINITY : batch.timestampMs(i);
      if (offset >= next) panes.fold(offset, brokerMs, skipped ? undefined : event);
    }
    this.pass(batch.offset(batch.length - 1) + 1);
    return outcomes;
  }

  /** Resolves once everything below `end` is published; rejects when the lane is given up before. */
  published(end: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ end, done: resolve, giveUp: reject });
      if (signal.aborted) this.#giveUp();
      // One listener: the signal is the lane's, and outlives every batch.
      else if (signal !== this.#signal) signal.addEventListener('abort', () => this.#giveUp(), { once: true });
      this.#signal = signal;
    });
  }

  #giveUp(): void {
    for (const { giveUp } of this.#waiting.splice(0)) giveUp(new Error('the partition was given up before what it counted was published'));
  }

  /** `logEnd`: what a look-up of the log's end gave that was begun at `begunMs`. */
  news(logEnd: { readonly end: number; readonly begunMs: number } | undefined): LaneNews | undefined {
    if (this.#next === undefined) return undefined;
    const cells = this.#panes.changed();
    const atEnd = logEnd !== undefined && logEnd.end === this.#next && !this.halted;
    const unread = logEnd !== undefined && logEnd.end > this.#next;
    const mark = this.#panes.mark(atEnd ? logEnd.begunMs : undefined, unread);
    return { next: this.#next, cells, mark, leftOut: this.#leftOut.since(cells, mark), rules: this.#panes.ruleIds };
  }

  /** Everything below `next` is published. */
  acknowledged(next: number): void {
    const done = this.#waiting.filter(({ end }) => end <= next);
    if (done.length === 0) return;
    this.#waiting = this.#waiting.filter(({ end }) => end > next);
    for (const each of done) each.done();
  }
}
