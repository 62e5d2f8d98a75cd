/** A number that a server was asked for. */
export interface Figure {
  /** What it last answered; undefined before its first answer. */
  readonly value: number | undefined;
  /** For how long it has not answered; 0 while it does. */
  readonly silentSeconds: number;
}

/** Slower than any answer of a server that is well. */
const SILENT_MS = 1200;

/**
 * Asks one question again and again, never twice at once: a server that hangs is asked anew only when the question's own bound has
 * ended it. Nobody waits longer for it than he likes.
 */
export class Watch {
  readonly #question: () => Promise<number>;
  readonly #nowMs: () => number;
  #asking: Promise<void> | undefined;
  #value: number | undefined;
  /** When the first question was asked that has not been answered since. */
  #unansweredMs: number | undefined;

  constructor(question: () => Promise<number>, nowMs: () => number = () => performance.now()) {
    this.#question = question;
    this.#nowMs = nowMs;
  }

  /** Asks, unless the last question is still open. Resolves when the open question has ended; never rejects. */
  ask(): Promise<void> {
    this.#unansweredMs ??= this.#nowMs();
    this.#asking ??= this.#ask();
    return this.#asking;
  }

  get figure(): Figure {
    const silentMs = this.#unansweredMs === undefined ? 0 : this.#nowMs() - this.#unansweredMs;
    return { value: this.#value, silentSeconds: silentMs < SILENT_MS ? 0 : Math.round(silentMs / 1000) };
  }

  async #ask(): Promise<void> {
    try {
      this.#value = await this.#question();
      this.#unansweredMs = undefined;
    } catch {
      // A server that is away is a fact to show: the figure says for how long. The next look asks again.
    }
    this.#asking = undefined;
  }
}
