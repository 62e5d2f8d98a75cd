import type { AlertState } from './alert-state.ts';
import { stateKey } from './state-codec.ts';

/** Gone for so long is gone for good: until then a file may be being replaced, or processes take up rules one after the other. */
const GONE_MS = 300_000;

interface Gone {
  readonly state: AlertState;
  readonly why: string;
  readonly sinceMs: number;
}

/** What fires and nothing decides about any more: its rule is gone, or groups by something else. It goes on should the rule come back soon. */
export class GoneAlerts {
  #gone = new Map<string, Gone>();

  /** Looks through all states. `whyGone`: undefined where something decides about it. */
  note(states: Iterable<AlertState>, whyGone: (state: AlertState) => string | undefined, nowMs: number): void {
    const before = this.#gone;
    this.#gone = new Map();
    for (const state of states) {
      const why = state.state === 'firing' ? whyGone(state) : undefined;
      if (why === undefined) continue;
      const key = stateKey(state);
      this.#gone.set(key, { state, why, sinceMs: before.get(key)?.sinceMs ?? nowMs });
    }
  }

  /** Those of them that are not gone. */
  without(states: readonly AlertState[]): readonly AlertState[] {
    return this.#gone.size === 0 ? states : states.filter((state) => !this.#gone.has(stateKey(state)));
  }

  /** Those that are gone for good: each once. */
  takeOver(nowMs: number): Gone[] {
    if (this.#gone.size === 0) return [];
    const over = [...this.#gone.values()].filter(({ sinceMs }) => nowMs - sinceMs >= GONE_MS);
    for (const { state } of over) this.#gone.delete(stateKey(state));
    return over;
  }
}
