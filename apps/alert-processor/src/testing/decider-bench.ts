import type { AlertState } from '../decide/alert-state.ts';
import { Decider, type DeciderOptions } from '../decide/decider.ts';
import type { Cell, LaneMark } from '../messages/message.ts';
import type { Notification } from '../notify/notification.ts';
import type { Rule, RuleSet } from '../rules/rule.ts';
import { LATENESS_MS, PANE_MS, plainRule, ruleSet } from './plain-rules.ts';

/** A pane's start, so that tests count in panes. */
export const T0 = Date.UTC(2026, 0, 1, 12);
export const WEB = '["web"]';

/** A decider, what it is told by hand, and what came of it. Two source partitions; times in panes after `T0`. */
export class DeciderBench {
  decider: Decider;
  readonly states: AlertState[] = [];
  rules: RuleSet;
  #offset = 0;
  nowMs = T0;

  constructor(
    rules: readonly Rule[] = [plainRule()],
    readonly options: Partial<DeciderOptions> = {},
  ) {
    this.rules = ruleSet(rules);
    this.decider = this.#open(0);
  }

  /** The owner dies, and another one reads the states; of the messages nothing. */
  restart(): void {
    this.decider = this.#open(this.states.length);
    this.decider.restore(this.states);
  }

  setRules(rules: readonly Rule[], changes: Partial<RuleSet> = {}): void {
    this.rules = ruleSet(rules, changes);
    this.decider.setRules(this.rules);
  }

  /** `atMs`: the broker time of the record that tells it. */
  count(pane: number, n: number, changes: Partial<Cell> & { readonly partition?: number; readonly atMs?: number } = {}): void {
    const paneMs = T0 + pane * PANE_MS;
    const { partition = 0, atMs = paneMs + 5000, ...rest } = changes;
    const cell: Cell = {
      rule: { name: 'events-by-service', version: 'v1' },
      group: WEB,
      paneMs,
      source: source(partition),
      offset: ++this.#offset,
      brokerMs: paneMs + 5000,
      eventMs: paneMs + 4000,
      partial: ['count', n],
      ...rest,
    };
    this.decider.accept({ kind: 'cells', cells: [cell] }, atMs);
  }

  /** Partitions are counted up to the begin of a pane. */
  mark(
    pane: number,
    {
      partitions = [0, 1],
      atMs = T0 + pane * PANE_MS + LATENESS_MS,
      ...changes
    }: Partial<LaneMark> & { readonly partitions?: readonly number[]; readonly atMs?: number } = {},
  ): void {
    const marks = partitions.map((partition) => ({
      source: source(partition),
      watermarkMs: T0 + pane * PANE_MS,
      fromMs: T0 - 3_600_000,
      ruleFromMs: new Map(),
      unread: false,
      late: 0,
      ...changes,
    }));
    this.decider.accept({ kind: 'marks', rules: this.rules.rules.map(({ name, version }) => ({ name, version })), marks }, atMs);
  }

  /** Decides; answers the last words of the keys that are new, as `firing@2` (the episode begins at pane 2). Everything is sent at once unless it is told not to. */
  tick({ sends = true, afterMs = 250 }: { readonly sends?: boolean; readonly afterMs?: number } = {}): string[] {
    this.nowMs += afterMs;
    const told: string[] = [];
    for (const state of this.decider.tick(this.nowMs)) {
      this.states.push(state);
      for (const { sends: each, notification } of state.transitions) {
        if (!each.some(({ status }) => status === 'pending')) continue;
        told.push(wordOf(notification));
        if (!sends) continue;
        const after = this.decider.delivered(notification.key, 'oncall', { kind: 'sent' }, 1, this.nowMs);
        if (after !== undefined) this.states.push(after);
      }
    }
    return told;
  }

  /** The latest state of a rule's group. */
  state(rule = 'events-by-service', group = WEB): AlertState | undefined {
    return this.decider.states().find((state) => state.rule === rule && state.group === group);
  }

  /** The latest notification of the group. */
  notification(rule = 'events-by-service', group = WEB): Notification | undefined {
    return this.state(rule, group)?.transitions.at(-1)?.notification;
  }

  #open(ownEpoch: number): Decider {
    const decider = new Decider({ partition: 0, ownEpoch, channels: ['oncall'], ...this.options });
    decider.setRules(this.rules);
    decider.setSources([0, 1].map((partition) => ({ topic: 'service-events', partition })));
    return decider;
  }
}

function source(partition: number) {
  return { topic: 'service-events', incarnation: 'AbCd-_12', partition };
}

function wordOf({ key, startedMs }: Notification): string {
  return `${key.slice(key.lastIndexOf('/') + 1)}@${(startedMs - T0) / PANE_MS}`;
}
