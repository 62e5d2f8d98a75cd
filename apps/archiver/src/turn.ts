/** Runs pieces of work one after another, in the order in which they came; one that fails does not stop those behind it. */
export class Turn {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    // Safe: whoever asked for the work holds `mine` and is told; the next one only waits for its end.
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
