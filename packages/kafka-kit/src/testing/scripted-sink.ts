import { type Batch, type Gap, type Lane, type Outcome, type Sink, STORED } from '../consume/contract.ts';
import type { TopicPartition } from '../records.ts';

/** One call of `write`, and the means to answer it. */
export interface ScriptedWrite {
  readonly batch: Batch;
  readonly partition: number;
  readonly offsets: readonly number[];
  readonly signal: AbortSignal;
  answer(outcomes: readonly Outcome[]): void;
  /** Every record is stored. */
  store(): void;
  fail(cause: unknown): void;
}

/** A sink whose answers a test gives: by hand (`hold`), or by a function. */
export class ScriptedSink implements Sink {
  readonly name = 'scripted';
  /** Every call, in order. */
  readonly writes: ScriptedWrite[] = [];
  /** Calls that wait for their answer. */
  open: ScriptedWrite[] = [];
  readonly gaps: { readonly lane: Lane; readonly gap: Gap; readonly after: number }[] = [];
  readonly flushes: { readonly why: 'revoke' | 'stop'; readonly lanes: readonly TopicPartition[] }[] = [];
  readonly assigns: Lane[] = [];
  /** While true, writes wait for the test. */
  hold = false;
  respond: ((write: ScriptedWrite) => readonly Outcome[] | Promise<readonly Outcome[]>) | undefined;
  closed = 0;
  assign?: (lane: Lane) => Promise<{ readonly startAt: number } | undefined>;
  gap?: (lane: Lane, gap: Gap) => Promise<void>;
  flush?: (why: 'revoke' | 'stop', lanes: readonly TopicPartition[]) => Promise<void>;

  write(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    const offsets = Array.from({ length: batch.length }, (_, i) => batch.offset(i));
    return new Promise((resolve, reject) => {
      const close = (): void => {
        this.open = this.open.filter((each) => each !== write);
      };
      const write: ScriptedWrite = {
        batch,
        partition: batch.source.partition,
        offsets,
        signal,
        answer: (outcomes) => {
          close();
          resolve(outcomes);
        },
        store: () => write.answer(offsets.map(() => STORED)),
        fail: (cause) => {
          close();
          reject(cause instanceof Error ? cause : new Error(String(cause)));
        },
      };
      this.writes.push(write);
      this.open.push(write);
      if (this.hold) return;
      if (this.respond === undefined) write.store();
      // Within a promise, so that a script that throws is a sink that throws.
      else void Promise.resolve(write).then(this.respond).then(write.answer, write.fail);
    });
  }

  async close(): Promise<void> {
    this.closed += 1;
  }

  /** Offsets handed over of a partition, in the order of the calls. */
  offsets(partition = 0): number[] {
    return this.writes.filter((write) => write.partition === partition).flatMap(({ offsets }) => offsets);
  }

  /** The only write that waits. */
  get waiting(): ScriptedWrite {
    const [write, ...more] = this.open;
    if (write === undefined || more.length > 0) throw new Error(`${this.open.length} writes wait, and one was expected`);
    return write;
  }
}
