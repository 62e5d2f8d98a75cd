import type { Partial } from '../measures/partial.ts';
import { REFUSED_GROUP, type RuleId } from '../messages/message.ts';
import type { Accumulator, EventObject, Rule } from '../rules/rule.ts';

/** What one pane holds of one group, and the greatest times that were counted. */
export interface PaneCell {
  readonly rule: RuleId;
  readonly group: string;
  readonly paneMs: number;
  readonly counted: { partial(): Partial };
  brokerMs: number;
  eventMs: number;
  /** Whether it stands in the list of what changed. */
  changed: boolean;
}

interface GroupCell extends PaneCell {
  readonly counted: Accumulator;
}

class EventCount {
  n = 0;

  partial(): Partial {
    return ['count', this.n];
  }
}

interface RefusedCell extends PaneCell {
  readonly counted: EventCount;
}

interface Pane {
  readonly startMs: number;
  readonly groups: Map<string, GroupCell>;
  refused: RefusedCell | undefined;
}

/** The open panes of one rule in one lane. */
export class RulePanes {
  readonly id: RuleId;
  private readonly panes = new Map<number, Pane>();
  /** Most events are of the same pane as the one before. */
  private last: Pane | undefined;

  constructor(
    /** The rule as it reads now: a reload that leaves the version brings it in anew. */
    public rule: Rule,
    /** The first pane that holds all of the rule's events. */
    readonly fromMs: number,
    /** Shared by the rules of the lane. */
    private readonly changedCells: PaneCell[],
  ) {
    this.id = { name: rule.name, version: rule.version };
  }

  /** Counts an event that is the rule's. */
  fold(event: EventObject, startMs: number, brokerMs: number, eventMs: number): void {
    const pane = this.last?.startMs === startMs ? this.last : this.paneAt(startMs);
    const group = this.rule.groupOf(event);
    let cell = pane.groups.get(group);
    if (cell === undefined) {
      if (pane.groups.size >= this.rule.maxGroups) {
        this.refuse(pane, brokerMs, eventMs);
        return;
      }
      cell = { rule: this.id, group, paneMs: startMs, counted: this.rule.measure.open(), brokerMs, eventMs, changed: false };
      pane.groups.set(group, cell);
    }
    cell.counted.fold(event);
    this.note(cell, brokerMs, eventMs);
  }

  /** Counts an event whose group is one too many. Which groups are depends on the order of the records alone. */
  private refuse(pane: Pane, brokerMs: number, eventMs: number): void {
    pane.refused ??= {
      rule: this.id,
      group: REFUSED_GROUP,
      paneMs: pane.startMs,
      counted: new EventCount(),
      brokerMs,
      eventMs,
      changed: false,
    };
    pane.refused.counted.n++;
    this.note(pane.refused, brokerMs, eventMs);
  }

  private note(cell: PaneCell, brokerMs: number, eventMs: number): void {
    if (brokerMs > cell.brokerMs) cell.brokerMs = brokerMs;
    if (eventMs > cell.eventMs) cell.eventMs = eventMs;
    if (cell.changed) return;
    cell.changed = true;
    this.changedCells.push(cell);
  }

  private paneAt(startMs: number): Pane {
    let pane = this.panes.get(startMs);
    if (pane === undefined) {
      pane = { startMs, groups: new Map(), refused: undefined };
      this.panes.set(startMs, pane);
    }
    this.last = pane;
    return pane;
  }

  /** Drops the panes that start before `openFromMs`; what changed in them is still published. */
  closeBelow(openFromMs: number): void {
    this.last = undefined;
    for (const startMs of this.panes.keys()) if (startMs < openFromMs) this.panes.delete(startMs);
  }
}
