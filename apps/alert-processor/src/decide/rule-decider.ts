import type { Rule } from '../rules/rule.ts';
import type { AlertState } from './alert-state.ts';
import { type Coverage, ruleKey } from './coverage.ts';
import { begun, type Deciding, earlierFound, earlierTold, type Present, resolved, type Turn } from './episodes.ts';
import { evidenceOf } from './evidence.ts';
import type { GroupPanes, RulePanes } from './pane-store.ts';
import { endAfter, firesAt, firesEarly, lookBackMs, readBackMs, stepMs, viewWindow, type WindowContext } from './windows.ts';

/** The states of one rule's groups. */
export interface RuleStates {
  get(group: string): AlertState | undefined;
  firing(): readonly AlertState[];
  /** Takes a changed state, to be written. */
  write(state: AlertState): void;
  /** Takes a state that says nothing new to people: not written by itself. */
  keep(state: AlertState): void;
  deciding(group: string): Deciding;
}

/** A group that fires for want of events is waited for so long. */
const GIVE_UP_MS = 86_400_000;

/** Windows so far behind the newest time that was heard of are not decided any more: nothing of them is kept so long. */
const OLDEST_MS = 7 * 86_400_000;

/** Behind by so many windows, those in which a group has nothing are passed over at once. */
const MANY_STEPS = 100;

/** Decides the windows of one rule, in order. */
export class RuleDecider {
  readonly rule: Rule;
  readonly key: string;
  readonly store: RulePanes;
  /** Every window that ends at or before it is decided; undefined until anything was heard. */
  settledMs: number | undefined;
  readonly #context: WindowContext;
  readonly #states: RuleStates;
  readonly #stepMs: number;
  readonly #paneMs: number;
  readonly #maxLagMs: number;
  readonly #latenessMs: number;

  constructor(
    rule: Rule,
    parts: { paneMs: number; latenessMs: number; maxLagMs: number; coverage: Coverage; store: RulePanes; states: RuleStates },
  ) {
    this.rule = rule;
    this.key = ruleKey(rule);
    this.store = parts.store;
    this.#states = parts.states;
    this.store.isKept = (group) => parts.states.get(group)?.state === 'firing';
    this.#paneMs = parts.paneMs;
    this.#maxLagMs = parts.maxLagMs;
    this.#latenessMs = parts.latenessMs;
    this.#stepMs = stepMs(rule, parts.paneMs);
    this.#context = { rule, key: this.key, paneMs: parts.paneMs, coverage: parts.coverage, store: parts.store };
  }

  /** Decides what can be decided now: first the windows that every partition has passed, then, above a threshold, those that are still open. */
  advance(): void {
    const untilMs = this.#untilMs();
    if (untilMs !== undefined) this.#settle(untilMs);
    if (firesEarly(this.rule)) for (const group of this.store.changed) this.#fireEarly(group);
    this.store.changed.clear();
  }

  /** Of what is read again, panes that only decided windows reach are not held. */
  passOver(): void {
    const { settledMs } = this;
    if (settledMs === undefined) return;
    this.store.passOver(settledMs - lookBackMs(this.rule, this.#paneMs), settledMs - readBackMs(this.rule, this.#paneMs));
  }

  /** What the group's newest windows say now. */
  present(group: string): Present {
    const panes = this.store.groups.get(group);
    const newestMs = panes?.newestMs ?? 0;
    const at = (endMs: number) => evidenceOf(this.#context, viewWindow(this.#context, panes, endMs));
    const evidence = () => at(endAfter(Math.max(newestMs, (this.settledMs ?? 0) - this.#stepMs), this.#stepMs));
    return {
      evidence,
      holding: () => {
        // What does not fire early fires on windows that are settled.
        if (!firesEarly(this.rule)) return evidence();
        // The window that is going on, which may hold little as yet, and the last one that is over: as far as was heard, since a group may fall silent.
        const heardMs = (this.#context.coverage.greatestMs() ?? Number.NEGATIVE_INFINITY) + this.#latenessMs;
        const endMs = endAfter(Math.max(newestMs, heardMs), this.#stepMs);
        const holds = [endMs, endMs - this.#stepMs].find((end) => firesAt(this.#context, panes, end, true) === 'holds');
        return holds === undefined ? undefined : at(holds);
      },
    };
  }

  /**
   * Up to when all windows are decided now. A partition that is too far behind the others is not waited for any longer, so that the panes that
   * wait for it stay bounded: what it lacks is then unknown.
   */
  #untilMs(): number | undefined {
    const { coverage } = this.#context;
    const watermarkMs = coverage.watermarkMs(this.key);
    const greatestMs = coverage.greatestMs();
    if (greatestMs === undefined) return watermarkMs;
    return Math.max(watermarkMs ?? Number.NEGATIVE_INFINITY, greatestMs - this.#maxLagMs);
  }

  #settle(untilMs: number): void {
    const fromMs = Math.max(this.settledMs ?? Math.min(this.store.oldestMs, untilMs), untilMs - OLDEST_MS);
    this.store.seal(untilMs);
    if (endAfter(fromMs, this.#stepMs) <= untilMs) {
      for (const [group, panes] of this.store.groups) this.#settleGroup(group, panes, fromMs, untilMs);
      for (const { group } of this.#states.firing()) {
        if (!this.store.groups.has(group)) this.#settleGroup(group, undefined, fromMs, untilMs);
      }
    }
    if (this.settledMs === undefined || untilMs - (untilMs % this.#paneMs) > this.settledMs) {
      this.store.forget(untilMs - lookBackMs(this.rule, this.#paneMs), untilMs - readBackMs(this.rule, this.#paneMs));
    }
    if (this.settledMs === undefined || untilMs > this.settledMs) this.settledMs = untilMs;
  }

  #settleGroup(group: string, panes: GroupPanes | undefined, fromMs: number, untilMs: number): void {
    const step = this.#stepMs;
    let state = this.#states.get(group);
    let endMs = endAfter(Math.max(fromMs, state?.decidedMs ?? Number.NEGATIVE_INFINITY), step);
    for (; endMs <= untilMs; endMs += step) {
      if (state?.state !== 'firing') {
        // Nothing of the group is in reach: nothing fires before its next pane.
        if (panes === undefined) return;
        const nearestMs = this.#nearest(panes, endMs, untilMs);
        if (nearestMs === undefined) return;
        if (nearestMs >= endMs) {
          endMs = endAfter(nearestMs, step) - step;
          continue;
        }
        const verdict = firesAt(this.#context, panes, endMs, false);
        if (verdict === 'holds') this.#states.write(begun(state, this.#states.deciding(group), this.#turn(panes, endMs), endMs));
      } else this.#goOn(state, panes, endMs);
      state = this.#states.get(group);
    }
  }

  /** A pane that a window's verdict may depend on, or where there is none the first one behind it; undefined: there is none either. */
  #nearest(panes: GroupPanes, endMs: number, untilMs: number): number | undefined {
    const fromMs = endMs - readBackMs(this.rule, this.#paneMs);
    if (Math.max(panes.newestMs, panes.forgottenMs) < fromMs) return undefined;
    if (untilMs - endMs < MANY_STEPS * this.#stepMs || panes.forgottenMs >= fromMs) return fromMs;
    let nearestMs = Number.POSITIVE_INFINITY;
    for (const startMs of panes.panes.keys()) if (startMs >= fromMs && startMs < nearestMs) nearestMs = startMs;
    return nearestMs;
  }

  /** A settled window of a group that fires: the episode goes on or ends, or a stretch before it shows. */
  #goOn(state: AlertState, panes: GroupPanes | undefined, endMs: number): void {
    const verdict = firesAt(this.#context, panes, endMs, true);
    const startMs = endMs - this.rule.window.ms;
    if (endMs < state.firstEndMs) {
      if (verdict === 'holds' && state.earlierMs === undefined) {
        this.#states.write(earlierFound(state, this.#states.deciding(state.group), startMs, endMs));
      }
      if (verdict === 'fails' && state.earlierMs !== undefined) this.#tellEarlier(state, state.earlierMs, panes, endMs);
      return;
    }
    if (verdict === 'fails') this.#resolve(state, panes, endMs);
    if (verdict !== 'holds') return;
    const quiet = endMs - state.firstEndMs >= GIVE_UP_MS && !firesEarly(this.rule) && viewWindow(this.#context, panes, endMs).events === 0;
    if (quiet) this.#resolve(state, panes, endMs, 'given up waiting after 24 h');
    else if (startMs > state.lastFiringMs) this.#states.keep({ ...state, lastFiringMs: startMs });
  }

  #tellEarlier(state: AlertState, earlierMs: number, panes: GroupPanes | undefined, endMs: number): void {
    const firing = this.#turn(panes, earlierMs + this.rule.window.ms).evidence;
    this.#states.write(earlierTold(state, this.#states.deciding(state.group), firing, this.#turn(panes, endMs)));
  }

  #resolve(state: AlertState, panes: GroupPanes | undefined, endMs: number, why?: string): void {
    this.#states.write(resolved(state, this.#states.deciding(state.group), this.#turn(panes, endMs, why)));
    // What came early behind this window was not looked at while the episode went on.
    this.store.lookAgain(state.group);
  }

  #turn(panes: GroupPanes | undefined, endMs: number, why?: string): Turn {
    const view = viewWindow(this.#context, panes, endMs);
    return { startMs: view.startMs, endMs, evidence: evidenceOf(this.#context, view, why) };
  }

  /** The first window of the group that is not settled and fires on what is there begins an episode. */
  #fireEarly(group: string): void {
    const panes = this.store.groups.get(group);
    if (panes === undefined) return;
    const { changedMs } = panes;
    panes.changedMs = Number.POSITIVE_INFINITY;
    const state = this.#states.get(group);
    if (state?.state === 'firing') return;
    const heardMs = this.#context.coverage.greatestMs() ?? Number.NEGATIVE_INFINITY;
    const before = Math.max(this.settledMs ?? Number.NEGATIVE_INFINITY, state?.decidedMs ?? Number.NEGATIVE_INFINITY);
    const decidedMs = Math.max(before, heardMs - OLDEST_MS);
    const step = this.#stepMs;
    const lastMs = endAfter(panes.newestMs, step);
    let endMs = endAfter(Math.max(decidedMs, changedMs, oldestOf(panes)), step);
    while (endMs <= lastMs) {
      if (firesAt(this.#context, panes, endMs, false) === 'holds') {
        this.#states.write(
          begun(state, this.#states.deciding(group), this.#turn(panes, endMs), finiteOr(before, endMs - this.rule.window.ms)),
        );
        return;
      }
      endMs = this.#nextEnd(panes, endMs);
    }
  }

  /** The end of the next window that holds anything. */
  #nextEnd(panes: GroupPanes, endMs: number): number {
    const next = endMs + this.#stepMs;
    let nearestMs = Number.POSITIVE_INFINITY;
    for (const startMs of panes.panes.keys()) {
      if (startMs >= next - this.rule.window.ms && startMs < nearestMs) nearestMs = startMs;
    }
    return nearestMs < next ? next : endAfter(nearestMs, this.#stepMs);
  }
}

function finiteOr(ms: number, otherwiseMs: number): number {
  return Number.isFinite(ms) ? ms : otherwiseMs;
}

function oldestOf({ panes }: GroupPanes): number {
  let oldest = Number.POSITIVE_INFINITY;
  for (const startMs of panes.keys()) if (startMs < oldest) oldest = startMs;
  return oldest;
}
