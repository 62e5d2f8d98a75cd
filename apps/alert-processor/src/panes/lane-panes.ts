import { CANARY_SERVICE, instantMs } from '@tailrace/events';
import type { Cell, LaneMark, RuleId, Source } from '../messages/message.ts';
import type { EventObject, RuleSet } from '../rules/rule.ts';
import { GroupedPanes } from './grouped-panes.ts';
import { type PaneCell, RulePanes } from './rule-panes.ts';

/**
 * The panes of one lane: a function of its records in their order and of nothing else, so whoever reads the same records publishes the same cells
 * (design, section 10). B is the greatest broker time that was read. An event's time is the smaller one of its own and its record's broker time; a
 * pane is dropped for good when B - lateness reaches its end, and the clock closes none. Panes that start before `fromMs` are not held: the lane
 * began to read behind some of their records.
 */
export class LanePanes {
  /** The offset behind the last record that was folded; 0 before the first one. */
  next = 0;
  private late = 0;
  private readonly fromMs: number;
  private readonly changedCells: PaneCell[] = [];
  private counted: readonly RulePanes[] = [];
  /** By what they group by; `canaryPanes` hold the events of canaries, and no others. */
  private panes: ReadonlyMap<string, GroupedPanes> = new Map();
  private canaryPanes: ReadonlyMap<string, GroupedPanes> = new Map();
  /** B; at the beginning `fromMs`, below which no pane counts anyhow. */
  private greatestMs: number;
  /** B as `changed` told it: the watermark must not run ahead of the cells. */
  private toldMs: number;
  /** No pane that starts below it is open. */
  private openFromMs: number;

  constructor(
    private readonly source: Source,
    private set: RuleSet,
    opened: { readonly fromMs: number },
  ) {
    this.fromMs = opened.fromMs;
    this.greatestMs = opened.fromMs;
    this.toldMs = opened.fromMs;
    this.openFromMs = opened.fromMs;
    this.take(set, opened.fromMs);
  }

  /** Takes a reload over: versions that are known go on, new ones count from the first pane above B on, those that are gone are dropped. */
  setRules(rules: RuleSet): void {
    this.set = rules;
    this.take(rules, (Math.floor(this.greatestMs / rules.paneMs) + 1) * rules.paneMs);
    const ids = new Set(this.ruleIds);
    const kept = this.changedCells.filter(({ rule }) => ids.has(rule));
    this.changedCells.length = 0;
    for (const cell of kept) this.changedCells.push(cell);
  }

  private take(rules: RuleSet, newFromMs: number): void {
    const known = new Map(this.counted.map((each) => [each.id.name, each]));
    this.counted = rules.rules.map((rule) => {
      const before = known.get(rule.name);
      if (before?.id.version !== rule.version) return new RulePanes(rule, newFromMs, this.changedCells);
      before.rule = rule;
      return before;
    });
    this.panes = regrouped(
      this.panes,
      this.counted.filter(({ id }) => id.name !== CANARY_SERVICE),
    );
    this.canaryPanes = regrouped(
      this.canaryPanes,
      this.counted.filter(({ id }) => id.name === CANARY_SERVICE),
    );
  }

  /** Counts one record. `event` is undefined where the value is no JSON object: such a record counts for time and offset only. */
  fold(offset: number, brokerMs: number, event: EventObject | undefined): void {
    this.next = offset + 1;
    if (brokerMs > this.greatestMs) this.advance(brokerMs);
    if (event === undefined) return;
    const text = event.timestamp;
    const ownMs = typeof text === 'string' ? instantMs(text) : undefined;
    const eventMs = ownMs !== undefined && ownMs < brokerMs ? ownMs : brokerMs;
    const paneMs = this.set.paneMs;
    const startMs = Math.floor(eventMs / paneMs) * paneMs;
    if (startMs < this.openFromMs) {
      if (startMs + paneMs <= this.greatestMs - this.set.latenessMs) this.late++;
      return;
    }
    const panes = event.service === CANARY_SERVICE ? this.canaryPanes : this.panes;
    for (const each of panes.values()) each.fold(event, startMs, brokerMs, eventMs);
  }

  /** Takes a greater B over, and drops the panes that it closes. */
  private advance(brokerMs: number): void {
    this.greatestMs = brokerMs;
    const { paneMs, latenessMs } = this.set;
    // The first pane whose end lies above B - lateness.
    const openFromMs = Math.floor((brokerMs - latenessMs) / paneMs) * paneMs;
    if (openFromMs <= this.openFromMs) return;
    this.openFromMs = openFromMs;
    for (const each of this.panes.values()) each.closeBelow(openFromMs);
    for (const each of this.canaryPanes.values()) each.closeBelow(openFromMs);
  }

  /** The cumulative cells of what changed since the last call: everything below `next` is in them. */
  changed(): Cell[] {
    const { source, next: offset } = this;
    const cells = this.changedCells.map((cell): Cell => {
      cell.changed = false;
      const { rule, group, paneMs, brokerMs, eventMs } = cell;
      return { rule, group, paneMs, source, offset, brokerMs, eventMs, partial: cell.counted.partial() };
    });
    this.changedCells.length = 0;
    this.toldMs = this.greatestMs;
    return cells;
  }

  /**
   * How far the lane has read, as the cells that `changed` gave last tell it; to be sent once those are acknowledged. `endLookUpMs`: when a look-up of
   * the log's end was begun that gave the position behind those cells: whatever is appended later has a later broker time, so time goes on
   * without records. Up to `fromMs` it promises nothing, and so it is never below.
   */
  mark(endLookUpMs: number | undefined, unread: boolean): LaneMark {
    const younger = this.counted.filter(({ fromMs }) => fromMs > this.fromMs);
    return {
      source: this.source,
      watermarkMs: Math.max(this.fromMs, Math.max(this.toldMs, endLookUpMs ?? this.toldMs) - this.set.latenessMs),
      fromMs: this.fromMs,
      ruleFromMs: new Map(younger.map(({ id, fromMs }) => [id.name, fromMs])),
      unread,
      late: this.late,
    };
  }

  /** The versions that this lane counts: what its mark speaks of. */
  get ruleIds(): readonly RuleId[] {
    return this.counted.map(({ id }) => id);
  }
}

/** The rules by what they group by, with the panes that they have. Rules of one version group by the same fields, so none moves. */
function regrouped(before: ReadonlyMap<string, GroupedPanes>, rules: readonly RulePanes[]): Map<string, GroupedPanes> {
  const byGrouping = new Map<string, RulePanes[]>();
  for (const each of rules) {
    const key = JSON.stringify(each.rule.groupBy);
    byGrouping.set(key, [...(byGrouping.get(key) ?? []), each]);
  }
  const after = new Map<string, GroupedPanes>();
  for (const [key, alike] of byGrouping) {
    const panes = before.get(key) ?? new GroupedPanes();
    panes.setRules(alike);
    after.set(key, panes);
  }
  return after;
}
