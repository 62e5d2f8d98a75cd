interface Waiter {
  readonly offset: number;
  readonly resolve: () => void;
  readonly reject: (cause: Error) => void;
}

/** Those who wait until the lake holds an offset. */
export class Waiters {
  #waiting: Waiter[] = [];

  async until(offset: number): Promise<void> {
    await new Promise<void>((resolve, reject) => this.#waiting.push({ offset, resolve, reject }));
  }

  /** Everything below `end` is in the lake. */
  settle(end: number): void {
    const done = this.#waiting.filter(({ offset }) => offset < end);
    this.#waiting = this.#waiting.filter(({ offset }) => offset >= end);
    for (const { resolve } of done) resolve();
  }

  rejectAll(cause: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(cause);
  }
}
