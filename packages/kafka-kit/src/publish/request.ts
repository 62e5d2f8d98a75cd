import type { OutgoingRecord, Published } from './contract.ts';

/** The records of one `publish` call and what became of each. Answered once: when every fate is known, or at the deadline. */
export class PublishRequest {
  readonly records: readonly OutgoingRecord[];
  readonly answer: Promise<readonly Published[]>;
  readonly #fates: (Published | undefined)[];
  readonly #handed: boolean[];
  #open: number;
  #answered = false;
  #resolve: (fates: readonly Published[]) => void = () => {};

  constructor(records: readonly OutgoingRecord[]) {
    this.records = records;
    this.#fates = new Array<Published | undefined>(records.length).fill(undefined);
    this.#handed = new Array<boolean>(records.length).fill(false);
    this.#open = records.length;
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (records.length === 0) this.#finish();
  }

  get answered(): boolean {
    return this.#answered;
  }

  /** From here on the record may be in the log, whatever happens. */
  handed(index: number): void {
    this.#handed[index] = true;
  }

  settle(index: number, fate: Published): void {
    if (this.#fates[index] !== undefined) return;
    this.#fates[index] = fate;
    this.#open -= 1;
    if (this.#open === 0) this.#finish();
  }

  /** The caller waits no longer: what was not handed over is withdrawn, the fate of the rest is unknown. */
  expire(reason: string): void {
    this.#fates.forEach((fate, index) => {
      if (fate !== undefined) return;
      const kind = this.#handed[index] ? 'unknown' : 'withdrawn';
      this.settle(index, { kind, reason });
    });
  }

  #finish(): void {
    this.#answered = true;
    this.#resolve(this.#fates.map((fate) => fate ?? { kind: 'unknown', reason: 'no fate was recorded' }));
  }
}
