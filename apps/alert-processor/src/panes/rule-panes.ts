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

export interface GroupCell extends PaneCell {
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

/** How many groups a pane holds, and what it refused. */
interface Tally {
  groups: number;
  refused: RefusedCell | undefined;
}

/** One rule in one lane. Its cells stand in the panes of its grouping (`GroupedPanes`). */
export class RulePanes {
  readonly id: RuleId;
  /** By the pane's start. */
  private readonly tallies = new Map<number, Tally>();

  constructor(
    /** The rule as it reads now: a reload that leaves the version brings it in anew. */
    public rule: Rule,
    /** The first pane that holds all of the rule's events. */
    readonly fromMs: number,
    /** Shared by the rules of the lane. */
    private readonly changedCells: PaneCell[],
  ) {
    this.id = idOf(rule);
  }

  /** The cell of a group that is new in the pane; undefined where it is one too many. */
  open(group: string, paneMs: number, brokerMs: number, eventMs: number): GroupCell | undefined {
    const tally = this.tallyOf(paneMs);
    if (tally.groups >= this.rule.maxGroups) return undefined;
    tally.groups++;
    return { rule: this.id, group, paneMs, counted: this.rule.measure.open(), brokerMs, eventMs, changed: false };
  }

  count(cell: GroupCell, event: EventObject, brokerMs: number, eventMs: number): void {
    cell.counted.fold(event);
    this.note(cell, brokerMs, eventMs);
  }

  /** Counts an event whose group is one too many. Which groups are depends on the order of the records alone. */
  refuse(paneMs: number, brokerMs: number, eventMs: number): void {
    const tally = this.tallyOf(paneMs);
    tally.refused ??= { rule: this.id, group: REFUSED_GROUP, paneMs, counted: new EventCount(), brokerMs, eventMs, changed: false };
    tally.refused.counted.n++;
    this.note(tally.refused, brokerMs, eventMs);
  }

  private note(cell: PaneCell, brokerMs: number, eventMs: number): void {
    if (brokerMs > cell.brokerMs) cell.brokerMs = brokerMs;
    if (eventMs > cell.eventMs) cell.eventMs = eventMs;
    if (cell.changed) return;
    cell.changed = true;
    this.changedCells.push(cell);
  }

  private tallyOf(paneMs: number): Tally {
    let tally = this.tallies.get(paneMs);
    if (tally === undefined) {
      tally = { groups: 0, refused: undefined };
      this.tallies.set(paneMs, tally);
    }
    return tally;
  }

  /** Forgets the panes that start before `openFromMs`. */
  closeBelow(openFromMs: number): void {
    for (const startMs of this.tallies.keys()) if (startMs < openFromMs) this.tallies.delete(startMs);
  }
}

/** One for all lanes: a record that tells many of them says each rule once, and knows it without a look at its name. */
const ids = new WeakMap<Rule, RuleId>();

function idOf(rule: Rule): RuleId {
  const known = ids.get(rule);
  if (known !== undefined) return known;
  const id = { name: rule.name, version: rule.version };
  ids.set(rule, id);
  return id;
}
