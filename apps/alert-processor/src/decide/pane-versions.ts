import { type Cell, REFUSED_GROUP, type RuleId } from '../messages/message.ts';
import type { Rule } from '../rules/rule.ts';
import { IDLE_VERSION_MS, ruleKey } from './coverage.ts';
import { RulePanes } from './pane-store.ts';

interface Version {
  readonly store: RulePanes;
  loaded: boolean;
  maxGroups: number;
  /** When a cell came last. */
  heardMs: number;
  /** Start of the last pane in which a group was refused, here or by a lane: a pane's time, so that reading it again says nothing new. */
  fullMs: number | undefined;
}

/** Groups of a version that no loaded rule has: it may be loaded soon, and what its lanes counted until then counts. */
const UNLOADED_GROUPS = 10_000;

/** Brokers' clocks differ, and losing what was counted is worse than an hour too many. */
const MAX_AHEAD_MS = 3_600_000;

/** Versions at a time that no loaded rule has. */
const UNLOADED_VERSIONS = 100;

/** The panes of all rule versions: of the loaded ones, and for a while of those that other processes count. */
export class PaneStore {
  readonly #paneMs: number;
  readonly #versions = new Map<string, Version>();
  /** Keys by the rule of a message: cells of one record share it. */
  readonly #keys = new WeakMap<RuleId, string>();
  /** Of versions that are not held, cells of panes before it were dropped: their lanes' marks cover them all the same. */
  #droppedMs = Number.NEGATIVE_INFINITY;

  constructor(paneMs: number) {
    this.#paneMs = paneMs;
  }

  /** The panes of a rule, with what was counted of its version before it was loaded. */
  take(rule: Rule): RulePanes {
    const key = ruleKey(rule);
    const known = this.#versions.get(key);
    if (known !== undefined) {
      known.maxGroups = rule.maxGroups;
      return known.store;
    }
    const store = new RulePanes(this.#paneMs, rule.measure.partialKind, this.#droppedMs);
    this.#versions.set(key, { store, loaded: true, maxGroups: rule.maxGroups, heardMs: 0, fullMs: undefined });
    return store;
  }

  setLoaded(rules: readonly RuleId[]): void {
    const keys = new Set(rules.map(ruleKey));
    for (const [key, version] of this.#versions) version.loaded = keys.has(key);
  }

  /** `brokerMs`: the broker time of the record that tells the cell. */
  accept(cell: Cell, nowMs: number, brokerMs: number): void {
    let key = this.#keys.get(cell.rule);
    if (key === undefined) {
      key = ruleKey(cell.rule);
      this.#keys.set(cell.rule, key);
    }
    const limitMs = brokerMs + MAX_AHEAD_MS;
    let version = this.#versions.get(key);
    if (version === undefined) {
      if (this.#unloaded >= UNLOADED_VERSIONS) {
        // What no record of its time can hold is nobody's.
        if (cell.paneMs <= limitMs) this.#noteDropped(cell.paneMs + this.#paneMs);
        return;
      }
      version = {
        store: new RulePanes(this.#paneMs, undefined, this.#droppedMs),
        loaded: false,
        maxGroups: UNLOADED_GROUPS,
        heardMs: nowMs,
        fullMs: undefined,
      };
      this.#versions.set(key, version);
    }
    version.heardMs = nowMs;
    const refused = cell.group === REFUSED_GROUP || version.store.accept(cell, version.maxGroups, limitMs) === 'too many groups';
    if (refused && cell.paneMs <= cell.brokerMs && cell.brokerMs <= limitMs)
      version.fullMs = Math.max(version.fullMs ?? cell.paneMs, cell.paneMs);
  }

  /** The last pane in which a group of the rule was refused; undefined where none was, or once that is told to be over. */
  fullMs(key: string, nowMs: number): number | undefined {
    const version = this.#versions.get(key);
    const fullMs = version?.fullMs;
    if (version !== undefined && fullMs !== undefined && nowMs - fullMs >= IDLE_VERSION_MS) version.fullMs = undefined;
    return fullMs;
  }

  noteFull(key: string, nowMs: number): void {
    const version = this.#versions.get(key);
    if (version !== undefined) version.fullMs = nowMs;
  }

  forgetUnloaded(nowMs: number): void {
    for (const [key, version] of this.#versions) {
      if (version.loaded) continue;
      // Heard while the log was read again, before there was a clock.
      if (version.heardMs === 0) version.heardMs = nowMs;
      else if (nowMs - version.heardMs > IDLE_VERSION_MS) {
        this.#noteDropped(version.store.endMs);
        this.#versions.delete(key);
      }
    }
  }

  get #unloaded(): number {
    let count = 0;
    for (const { loaded } of this.#versions.values()) if (!loaded) count += 1;
    return count;
  }

  #noteDropped(endMs: number): void {
    if (endMs > this.#droppedMs) this.#droppedMs = endMs;
  }
}
