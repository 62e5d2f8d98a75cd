import type { EventObject } from '../rules/rule.ts';
import type { GroupCell, RulePanes } from './rule-panes.ts';

/** Of one group in one pane: a cell for each rule of the grouping, at the rule's place, once the rule has counted anything. */
type Cells = (GroupCell | undefined)[];

interface Pane {
  readonly startMs: number;
  readonly groups: Map<string, Cells>;
}

/**
 * The open panes of the rules of one lane that group by the same fields. Whatever the number of rules, an event's group is named once and looked up
 * once, and its cells are then found by their place: a name and a look-up per rule were half of what a record cost.
 */
export class GroupedPanes {
  private rules: readonly RulePanes[] = [];
  private readonly panes = new Map<number, Pane>();
  /** Most events are of the same pane as the one before. */
  private last: Pane | undefined;

  /** The rules that group so from now on, in the order in which they count. Cells of those that stay are kept. */
  setRules(rules: readonly RulePanes[]): void {
    const before = rules.map((rule) => this.rules.indexOf(rule));
    for (const { groups } of this.panes.values())
      for (const [group, cells] of groups)
        groups.set(
          group,
          before.map((place) => cells[place]),
        );
    this.rules = rules;
  }

  /** Counts an event for each of the rules that it belongs to. */
  fold(event: EventObject, startMs: number, brokerMs: number, eventMs: number): void {
    const { rules } = this;
    let pane: Pane | undefined;
    let group = '';
    let cells: Cells | undefined;
    for (let place = 0; place < rules.length; place++) {
      const each = rules[place] as RulePanes;
      if (startMs < each.fromMs || !each.rule.where(event)) continue;
      if (pane === undefined) {
        pane = this.last?.startMs === startMs ? this.last : this.paneAt(startMs);
        group = each.rule.groupOf(event);
        cells = pane.groups.get(group);
      }
      let cell = cells?.[place];
      if (cell === undefined) {
        cell = each.open(group, startMs, brokerMs, eventMs);
        if (cell === undefined) {
          each.refuse(startMs, brokerMs, eventMs);
          continue;
        }
        if (cells === undefined) {
          // A group that every rule refuses takes no place.
          cells = rules.map(() => undefined);
          pane.groups.set(group, cells);
        }
        cells[place] = cell;
      }
      each.count(cell, event, brokerMs, eventMs);
    }
  }

  private paneAt(startMs: number): Pane {
    let pane = this.panes.get(startMs);
    if (pane === undefined) {
      pane = { startMs, groups: new Map() };
      this.panes.set(startMs, pane);
    }
    this.last = pane;
    return pane;
  }

  /** Drops the panes that start before `openFromMs`; what changed in them is still published. */
  closeBelow(openFromMs: number): void {
    this.last = undefined;
    for (const startMs of this.panes.keys()) if (startMs < openFromMs) this.panes.delete(startMs);
    for (const rule of this.rules) rule.closeBelow(openFromMs);
  }
}
