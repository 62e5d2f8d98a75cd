interface Asked<Q, A> {
  readonly question: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (fault: unknown) => void;
}

/** Puts questions that are asked at about the same time into one: partitions are assigned together, and tick together. */
export class Gather<Q, A> {
  readonly #waitMs: number;
  readonly #answer: (questions: readonly Q[]) => Promise<readonly A[]>;
  #asked: Asked<Q, A>[] = [];

  /** `answer`: one for each question, in order. */
  constructor(waitMs: number, answer: (questions: readonly Q[]) => Promise<readonly A[]>) {
    this.#waitMs = waitMs;
    this.#answer = answer;
  }

  ask(question: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ question, resolve, reject });
      if (this.#asked.length === 1) setTimeout(() => void this.#run(), this.#waitMs);
    });
  }

  async #run(): Promise<void> {
    const asked = this.#asked.splice(0);
    try {
      const answers = await this.#answer(asked.map(({ question }) => question));
      asked.forEach(({ resolve, reject }, at) => {
        const answer = answers[at];
        if (answer === undefined) reject(new Error('there was no answer'));
        else resolve(answer);
      });
    } catch (fault) {
      for (const { reject } of asked) reject(fault);
    }
  }
}
