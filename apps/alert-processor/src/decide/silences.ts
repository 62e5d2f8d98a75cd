import type { Silence } from '../messages/message.ts';
import type { SilenceState } from './alert-state.ts';

/** A silence that is over is kept so long: a repeat of its message must not be written again and again. */
const KEPT_MS = 86_400_000;

/** Silences that one partition holds; more come only from a script gone wrong, and the command line refuses them. */
export const MAX_SILENCES = 1000;

/** The silences that hold: those of the rules file, and those from the command line, which are kept in `alert-state`. */
export class Silences {
  #ofFile: readonly Silence[] = [];
  readonly #told = new Map<string, SilenceState>();
  #changed = new Map<string, SilenceState>();

  setFile(silences: readonly Silence[]): void {
    this.#ofFile = silences;
  }

  restore(state: SilenceState): void {
    const known = this.#told.get(state.silence.id);
    if (known === undefined || state.epoch >= known.epoch) this.#told.set(state.silence.id, state);
  }

  /** Those from the command line. */
  told(): SilenceState[] {
    return [...this.#told.values()];
  }

  accept(silence: Silence, epoch: number): void {
    const known = this.#told.get(silence.id)?.silence;
    if (known !== undefined && same(known, silence)) return;
    if (known === undefined && this.#told.size >= MAX_SILENCES) return;
    const state: SilenceState = { kind: 'silence', silence, epoch };
    this.#told.set(silence.id, state);
    this.#changed.set(silence.id, state);
  }

  /** The id of a silence that the alert is under. */
  over(rule: string, group: string, nowMs: number): string | undefined {
    for (const silence of this.#ofFile) if (covers(silence, rule, group, nowMs)) return silence.id;
    for (const { silence } of this.#told.values()) if (covers(silence, rule, group, nowMs)) return silence.id;
    return undefined;
  }

  takeChanged(): SilenceState[] {
    const changed = [...this.#changed.values()];
    this.#changed = new Map();
    return changed;
  }

  /** Lets go of those that are long over; answers them, so that their records can be deleted. */
  takeExpired(nowMs: number): SilenceState[] {
    const expired = [...this.#told.values()].filter(({ silence }) => Math.max(silence.untilMs, silence.fromMs) + KEPT_MS < nowMs);
    for (const { silence } of expired) this.#told.delete(silence.id);
    return expired;
  }
}

function covers(silence: Silence, rule: string, group: string, nowMs: number): boolean {
  return (
    silence.fromMs <= nowMs &&
    nowMs < silence.untilMs &&
    (silence.rule === undefined || silence.rule === rule) &&
    (silence.group === undefined || silence.group === group)
  );
}

function same(a: Silence, b: Silence): boolean {
  return a.rule === b.rule && a.group === b.group && a.fromMs === b.fromMs && a.untilMs === b.untilMs && a.comment === b.comment;
}
