import type { Message } from '../messages/message.ts';
import type { Rule, RuleSet } from '../rules/rule.ts';
import type { AlertState, StateRecord } from './alert-state.ts';
import { Coverage, type DeciderSource, IDLE_VERSION_MS, type StreamPartition } from './coverage.ts';
import { abandoned, type Deciding, isPending, wentOn } from './episodes.ts';
import { GoneAlerts } from './gone-alerts.ts';
import { PaneStore } from './pane-versions.ts';
import { RuleDecider } from './rule-decider.ts';
import { GROUPS_RULE, groupsCondition, type SelfCondition, SelfConditions } from './self-conditions.ts';
import { Silences } from './silences.ts';
import { StateStore, type Told } from './state-store.ts';
import { groupValues, type Subject, subjectOf } from './subject.ts';
import { readBackMs } from './windows.ts';

export interface DeciderOptions {
  readonly partition: number;
  /** Of everything that this owner writes. */
  readonly ownEpoch: number;
  /** Every notifier's name. */
  readonly channels: readonly string[];
  /** A partition that is further behind the others is not waited for: its absence is then said, and its windows are unknown. */
  readonly maxLagMs?: number;
}

const HOUR_MS = 3_600_000;

/**
 * Decides about the groups of one partition of `alert-partials`: messages go in, changed states come out. It does no I/O and has no clock, so
 * the same messages and ticks make the same states.
 */
export class Decider {
  readonly #options: DeciderOptions;
  readonly #coverage = new Coverage();
  readonly #states = new StateStore();
  readonly #silences = new Silences();
  readonly #gone = new GoneAlerts();
  readonly #self: SelfConditions;
  #panes: PaneStore | undefined;
  #rules: RuleSet | undefined;
  #deciders = new Map<string, RuleDecider>();
  #subjects = new Map<string, Subject>();
  #restoredMs: number | undefined;
  /** The greatest broker time of a record of `alert-partials`. */
  #brokerMs: number | undefined;
  #nowMs = 0;
  #rulesChanged = false;

  constructor(options: DeciderOptions) {
    this.#options = options;
    this.#self = new SelfConditions(this.#states, options.channels);
  }

  /** Takes up rules. Panes of a rule whose version stays are kept, whatever else of it changed. */
  setRules(rules: RuleSet): void {
    if (rules === this.#rules) return;
    this.#panes ??= new PaneStore(rules.paneMs);
    this.#silences.setFile(rules.silences);
    const [before, settledMs] = [this.#deciders, this.settledMs];
    this.#deciders = new Map();
    this.#subjects = new Map(rules.rules.map((rule) => [rule.name, subjectOf(rule, this.#options.channels)]));
    for (const rule of rules.rules) {
      this.#deciders.set(rule.name, this.#deciderOf(rule, rules, before.get(rule.name) ?? settledMs, this.#panes));
    }
    this.#panes.setLoaded(rules.rules);
    this.#rules = rules;
    this.#rulesChanged = true;
  }

  /** Every partition that the stream has. */
  setSources(partitions: readonly StreamPartition[]): void {
    this.#coverage.setPartitions(partitions);
  }

  /** Takes the records of `alert-state`, in the order of their offsets, before the first message. */
  restore(records: readonly StateRecord[]): void {
    let epoch = Number.NEGATIVE_INFINITY;
    for (const record of records) {
      if (record.kind === 'alert') this.#states.restore(record);
      else if (record.kind === 'silence') this.#silences.restore(record);
      else if (record.partition === this.#options.partition && record.epoch >= epoch) {
        ({ epoch } = record);
        this.#restoredMs = record.watermarkMs ?? undefined;
      }
    }
    for (const decider of this.#deciders.values()) decider.settledMs = this.#restoredMs;
  }

  /** Nothing before it is covered: the messages of it are not read. Not said: they are read from their begin on. To be said before the first message. */
  readsFrom(floorMs: number): void {
    this.#coverage.setFloor(floorMs);
  }

  /** Windows that are decided need nothing of what is read again. To be said before the first message, and only where the log proves `settledMs`: it stays. */
  passOver(): void {
    for (const decider of this.#deciders.values()) decider.passOver();
  }

  /** Takes in one record of `alert-partials` with its own broker time: nothing that it says is later. Nothing is decided by it. */
  accept(message: Message, brokerMs: number): void {
    this.#brokerMs = Math.max(this.#brokerMs ?? brokerMs, brokerMs);
    if (message.kind === 'marks') this.#coverage.accept(message, this.#nowMs, brokerMs - this.#latenessMs);
    else if (message.kind === 'silence') this.#silences.accept(message.silence, this.#options.ownEpoch);
    else for (const cell of message.cells) this.#panes?.accept(cell, this.#nowMs, brokerMs);
  }

  /** Something about tailrace itself holds, or does not hold (any more): told as rules are, from now on. */
  condition(condition: SelfCondition, nowMs: number): void {
    const { rule, group } = condition;
    this.#self.set(condition, {
      group,
      nowMs,
      epoch: this.#options.ownEpoch,
      silencedBy: this.#silences.over(rule, group, nowMs),
    });
  }

  /** Decides. Answers the states that changed: they must be written, and acknowledged, before anything of them is sent. */
  tick(nowMs: number): AlertState[] {
    this.#nowMs = nowMs;
    this.#limitSettled();
    if (this.#rulesChanged) this.#gone.note(this.#states.all(), (state) => this.#whyGone(state), nowMs);
    this.#rulesChanged = false;
    this.#endGone();
    for (const decider of this.#deciders.values()) {
      decider.advance();
      this.#watchGroups(decider, nowMs);
    }
    this.#goOn();
    this.#coverage.forget((key) => this.#reachedMs(key), nowMs);
    this.#panes?.forgetUnloaded(nowMs);
    return this.#states.takeChanged();
  }

  /** What became of a send. Answers the state to be written; undefined where there is nothing to write. */
  delivered(key: string, channel: string, outcome: Told, attempts: number, nowMs: number): AlertState | undefined {
    const state = this.#states.told(key, channel, outcome, attempts, nowMs);
    // Of tries that go on only every doubling is written: a receiver that is down for a day must not fill the log.
    if (state === undefined || (outcome.kind === 'retry' && (attempts & (attempts - 1)) !== 0)) return undefined;
    const written = { ...state, writtenMs: nowMs, epoch: this.#options.ownEpoch };
    this.#states.keep(written);
    return written;
  }

  /** Silences that came and are not written yet. */
  takeSilences(): StateRecord[] {
    return this.#silences.takeChanged();
  }

  /** Records that nobody needs any more: their keys get a tombstone. */
  takeExpired(nowMs: number): StateRecord[] {
    const reachMs = this.reachMs + HOUR_MS;
    const untilMs = this.settledMs ?? Number.NEGATIVE_INFINITY;
    const over = [...this.#states.all()].filter(
      (state) =>
        state.state === 'ok' &&
        !state.transitions.some(isPending) &&
        state.writtenMs + reachMs < nowMs &&
        (state.decidedMs + reachMs < untilMs || !this.#deciders.has(state.rule)),
    );
    for (const state of over) this.#states.forget(state);
    return [...over, ...this.#silences.takeExpired(nowMs)];
  }

  /** All states, for those who ask, and after `restore` for what was still to be sent. */
  states(): AlertState[] {
    return [...this.#states.all()];
  }

  /** Everything that the log should hold of it, but for how far it is decided. */
  records(): StateRecord[] {
    return [...this.#states.all(), ...this.#silences.told()];
  }

  /** Every window of every rule that ends at or before it is decided: what the owner's record says. */
  get settledMs(): number | undefined {
    let least = Number.POSITIVE_INFINITY;
    for (const { settledMs } of this.#deciders.values()) least = Math.min(least, settledMs ?? Number.NEGATIVE_INFINITY);
    return Number.isFinite(least) ? least : this.#restoredMs;
  }

  /** How far back the messages before `settledMs` are needed to decide on. */
  get reachMs(): number {
    const rules = this.#rules;
    return rules === undefined ? 0 : Math.max(0, ...rules.rules.map((rule) => readBackMs(rule, rules.paneMs)));
  }

  get firing(): number {
    return this.#states.firingCount;
  }

  /** Groups of all rules of which anything is held. */
  get groups(): number {
    return [...this.#deciders.values()].reduce((groups, { store }) => groups + store.groups.size, 0);
  }

  /** What was heard of each partition of the stream. */
  sources(): readonly DeciderSource[] {
    return this.#coverage.partitions.map((partition) => {
      const { watermarkMs, atMs, aheadMs = 0 } = this.#coverage.heard(partition) ?? {};
      return { ...partition, watermarkMs, heardMs: atMs, aheadMs, blind: this.#coverage.blindOf(partition) };
    });
  }

  #watchGroups({ rule, key }: RuleDecider, nowMs: number): void {
    const panes = this.#panes;
    if (panes === undefined) return;
    const fullMs = panes.fullMs(key, nowMs);
    if (fullMs !== undefined) this.condition(groupsCondition(rule, nowMs - fullMs < IDLE_VERSION_MS), nowMs);
    // Told by an owner before this one: whether it still holds shows after a while.
    else if (this.#states.get(GROUPS_RULE, JSON.stringify([rule.name]))?.state === 'firing') panes.noteFull(key, nowMs);
  }

  get #latenessMs(): number {
    return this.#rules?.latenessMs ?? 0;
  }

  /** Nothing is decided that no broker's clock has reached: an owner before this one may have gone by a clock that was ahead. */
  #limitSettled(): void {
    const limitMs = (this.#brokerMs ?? Number.POSITIVE_INFINITY) - this.#latenessMs;
    const limited = (ms: number | undefined) => (ms === undefined ? undefined : Math.min(ms, limitMs));
    this.#restoredMs = limited(this.#restoredMs);
    for (const decider of this.#deciders.values()) decider.settledMs = limited(decider.settledMs);
  }

  /** `before`: the decider that the rule had, or up to where all others have decided. */
  #deciderOf(rule: Rule, { paneMs, latenessMs }: RuleSet, before: RuleDecider | number | undefined, panes: PaneStore): RuleDecider {
    const store = panes.take(rule);
    const decider = new RuleDecider(rule, {
      paneMs,
      latenessMs,
      maxLagMs: this.#options.maxLagMs ?? HOUR_MS,
      coverage: this.#coverage,
      store,
      states: {
        get: (group) => this.#states.get(rule.name, group),
        firing: () => this.#gone.without(this.#states.firing(rule.name)),
        write: (state) => this.#states.write(state),
        keep: (state) => this.#states.keep(state),
        deciding: (group) => this.#deciding(rule.name, group),
      },
    });
    // Of a new rule nothing is left to decide up to where the others are, but what another process has counted of it.
    decider.settledMs =
      before instanceof RuleDecider ? before.settledMs : before === undefined ? undefined : Math.min(before, store.oldestMs);
    store.allChanged();
    return decider;
  }

  #deciding(rule: string, group: string): Deciding {
    const subject = this.#subjects.get(rule);
    if (subject === undefined) throw new Error(`Rule ${rule} is decided about, and is not loaded.`);
    const nowMs = this.#nowMs;
    return { subject, group, nowMs, epoch: this.#options.ownEpoch, silencedBy: this.#silences.over(rule, group, nowMs) };
  }

  /** Why nothing decides about an alert any more; undefined where something does. */
  #whyGone({ rule: name, group }: AlertState): string | undefined {
    const about = this.#self.ruleOf(name, group);
    if (this.#self.owns(name)) return about === undefined || this.#deciders.has(about) ? undefined : 'the rule was taken out';
    const rule = this.#deciders.get(name)?.rule;
    if (rule === undefined) return 'the rule was taken out';
    return groupValues(group).length === rule.groupBy.length ? undefined : 'the rule groups by something else now';
  }

  /** What nothing decides about for good is told as over: nothing else could end it at the receiver. */
  #endGone(): void {
    const when = { nowMs: this.#nowMs, epoch: this.#options.ownEpoch };
    for (const { state, why } of this.#gone.takeOver(this.#nowMs)) {
      const known = this.#states.get(state.rule, state.group);
      this.#self.drop(state.rule, state.group);
      const heardMs = this.#coverage.greatestMs() ?? Number.NEGATIVE_INFINITY;
      if (known?.state === 'firing') this.#states.write(abandoned(known, when, why, heardMs));
    }
  }

  /** What time brings about in what fires: the end of a silence, telling again, and writing anew before the log forgets it. */
  #goOn(): void {
    const told: (AlertState | undefined)[] = [];
    for (const [name, decider] of this.#deciders) {
      for (const state of this.#gone.without(this.#states.firing(name)))
        told.push(wentOn(state, this.#deciding(name, state.group), decider.present(state.group)));
    }
    for (const { state, subject, evidence } of this.#self.firing()) {
      const silencedBy = this.#silences.over(state.rule, state.group, this.#nowMs);
      const deciding = { subject, group: state.group, nowMs: this.#nowMs, epoch: this.#options.ownEpoch, silencedBy };
      told.push(wentOn(state, deciding, { evidence: () => evidence, holding: () => evidence }));
    }
    for (const state of told) if (state !== undefined) this.#states.write(state);
  }

  #reachedMs(key: string): number | undefined {
    const rules = this.#rules;
    for (const decider of this.#deciders.values()) {
      if (decider.key !== key || rules === undefined) continue;
      return (decider.settledMs ?? Number.NEGATIVE_INFINITY) - readBackMs(decider.rule, rules.paneMs);
    }
    return undefined;
  }
}
