/** Looks up a topic's present incarnation, by a request that is begun after the call. Undefined: there is no such topic. */
export type IncarnationLookup = (topic: string) => Promise<string | undefined>;

/** The topic is another one than the records were read from. */
export class TopicChanged extends Error {
  override readonly name = 'TopicChanged';
}

interface Round {
  /** The look-up that runs now: begun before whoever comes next, so it proves nothing to them. */
  readonly running: Promise<string | undefined>;
  /** The one look-up that all who came meanwhile wait for. */
  next: Promise<string | undefined> | undefined;
}

/**
 * Proves, before records are written under a topic's incarnation, that the topic still was that one after the last of them was
 * delivered: the client goes on reading a topic that was deleted and made anew, and its records would overwrite the old ones' ids.
 * All who wait share one look-up.
 */
export class IncarnationGate {
  readonly #lookUp: IncarnationLookup;
  readonly #rounds = new Map<string, Round>();

  constructor(lookUp: IncarnationLookup) {
    this.#lookUp = lookUp;
  }

  /** @throws TopicChanged when the topic is gone or another one, and whatever the look-up throws. */
  async confirm(source: { readonly topic: string; readonly incarnation: string }): Promise<void> {
    const found = await this.#after(source.topic);
    if (found === source.incarnation) return;
    const now = found === undefined ? 'it is gone' : `it is ${found} now`;
    throw new TopicChanged(`topic ${source.topic} is not the one that was read (${source.incarnation}): ${now}`);
  }

  /** The answer of a look-up that begins after this call. */
  #after(topic: string): Promise<string | undefined> {
    const round = this.#rounds.get(topic);
    if (round === undefined) return this.#begin(topic);
    // Whatever became of the running one, the next begins behind it.
    round.next ??= round.running.then(
      () => this.#begin(topic),
      () => this.#begin(topic),
    );
    return round.next;
  }

  #begin(topic: string): Promise<string | undefined> {
    const running = this.#lookUp(topic);
    const round: Round = { running, next: undefined };
    this.#rounds.set(topic, round);
    const end = () => {
      if (this.#rounds.get(topic) === round && round.next === undefined) this.#rounds.delete(topic);
    };
    running.then(end, end);
    return running;
  }
}
