import { type Batch, type Outcome, type Sink, STORED } from '@tailrace/kafka-kit';
import { Findings } from '../proof/findings.ts';
import { numberIn } from '../torture/feed.ts';

/** A sink that holds what it is handed over against what was written: numbers from 1 up, which rise within a key, and offsets without a hole. */
export class Receiver implements Sink {
  readonly name = 'receiver';
  readonly findings = new Findings();
  readonly #times: Uint8Array;
  readonly #lastOfKey = new Map<string, number>();
  readonly #nextOf = new Map<number, number>();
  /** Records handed over. */
  records = 0;

  /** `written`: the highest number. */
  constructor(written: number) {
    this.#times = new Uint8Array(written + 1);
  }

  async write(batch: Batch): Promise<readonly Outcome[]> {
    const { partition } = batch.source;
    for (let i = 0; i < batch.length; i++) this.#take(partition, batch.offset(i), batch.key(i), batch.value(i));
    this.records += batch.length;
    return Array.from({ length: batch.length }, () => STORED);
  }

  /** What was not handed over exactly once. Call it at the end. */
  count(): void {
    for (let number = 1; number < this.#times.length; number++) {
      const times = this.#times[number] ?? 0;
      if (times === 0) this.findings.add('missing', `number ${number}`);
      else if (times > 1) this.findings.add('handed over more than once', `number ${number}, ${times} times`);
    }
  }

  #take(partition: number, offset: number, key: Buffer | null, value: Buffer | null): void {
    const place = `partition ${partition}, offset ${offset}`;
    const next = this.#nextOf.get(partition) ?? 0;
    if (offset !== next) this.findings.add('out of turn', `${place} where ${next} was next`);
    this.#nextOf.set(partition, offset + 1);
    const number = value === null ? 0 : numberIn(value);
    const times = this.#times[number];
    if (number === 0 || times === undefined) {
      this.findings.add('never written', place);
      return;
    }
    this.#times[number] = Math.min(times + 1, 255);
    if (key === null) return;
    const name = key.toString('latin1');
    if (number <= (this.#lastOfKey.get(name) ?? 0)) this.findings.add('out of order within its key', place);
    this.#lastOfKey.set(name, number);
  }
}
