/** What became of a round of canaries: `accepted` says that every one of them was acknowledged. */
export type CanaryAnswer = { readonly kind: 'accepted' } | { readonly kind: 'failed'; readonly reason: string };

interface Track {
  /** The latest event time of a canary that was decided upon, and when that was by this clock. */
  seen?: { readonly eventMs: number; readonly atMs: number };
  /** When the first canary was accepted that nothing has been seen behind. */
  waitingSinceMs?: number;
}

/** The canaries of one partition. */
export interface CanaryState {
  readonly partition: number;
  /** How long ago the latest canary that was seen had been posted; undefined before the first. */
  readonly ageMs: number | undefined;
  /** For how long a canary that the gateway accepted has been waited for; 0 while none is. */
  readonly waitingMs: number;
}

/**
 * What was posted, accepted and seen of the canaries that this process posts. A canary is seen when the deciding stage has taken in a cell that counts
 * it and has decided behind it. Which canary it was is told by the cell's event time, and the broker's clock may be behind ours: so one that is seen
 * ends the wait for all that were posted before.
 */
export class CanaryTrack {
  readonly #tracks = new Map<number, Track>();
  #firstPostMs: number | undefined;
  #failingSinceMs: number | undefined;
  #reason = '';

  /** A round is posted now, with this time in its events. */
  posted(nowMs: number): void {
    this.#firstPostMs ??= nowMs;
  }

  answered(partitions: readonly number[], answer: CanaryAnswer, nowMs: number): void {
    if (answer.kind === 'failed') {
      this.#failingSinceMs ??= nowMs;
      this.#reason = answer.reason;
      return;
    }
    this.#failingSinceMs = undefined;
    for (const partition of partitions) this.#track(partition).waitingSinceMs ??= nowMs;
  }

  /**
   * A canary of this partition was decided upon. Gives its round trip, from the event's time, or undefined where it is none of this process's, or
   * was seen before: cells come again and again, and after a restart from long ago.
   */
  saw(partition: number, eventMs: number, nowMs: number): number | undefined {
    const track = this.#track(partition);
    if (this.#firstPostMs === undefined || eventMs < this.#firstPostMs || eventMs <= (track.seen?.eventMs ?? 0)) return undefined;
    track.seen = { eventMs, atMs: nowMs };
    delete track.waitingSinceMs;
    return nowMs - eventMs;
  }

  /** Canaries go to other partitions from now on, or to none: nothing is waited for any more in those that are not named. */
  keep(partitions: ReadonlySet<number>): void {
    for (const partition of [...this.#tracks.keys()]) if (!partitions.has(partition)) this.#tracks.delete(partition);
  }

  /** For how long no round has been accepted whole, and the latest reason; 0 while all is well. */
  failing(nowMs: number): { readonly forMs: number; readonly reason: string } {
    return this.#failingSinceMs === undefined ? { forMs: 0, reason: '' } : { forMs: nowMs - this.#failingSinceMs, reason: this.#reason };
  }

  states(nowMs: number): readonly CanaryState[] {
    return [...this.#tracks]
      .map(([partition, { seen, waitingSinceMs }]) => ({
        partition,
        ageMs: seen === undefined ? undefined : Math.max(0, nowMs - seen.eventMs),
        waitingMs: waitingSinceMs === undefined ? 0 : nowMs - waitingSinceMs,
      }))
      .sort((a, b) => a.partition - b.partition);
  }

  #track(partition: number): Track {
    let track = this.#tracks.get(partition);
    if (track === undefined) {
      track = {};
      this.#tracks.set(partition, track);
    }
    return track;
  }
}
