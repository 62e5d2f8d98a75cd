import type { Partial } from '../measures/partial.ts';

/** One partition of the stream in one life of its topic. */
export interface Source {
  readonly topic: string;
  readonly incarnation: string;
  readonly partition: number;
}

export interface RuleId {
  readonly name: string;
  readonly version: string;
}

/** The cumulative partial of one pane of one group, as one lane has counted it up to `offset`. */
export interface Cell {
  readonly rule: RuleId;
  readonly group: string;
  readonly paneMs: number;
  readonly source: Source;
  /** The next offset to read of the lane: the highest one wins. */
  readonly offset: number;
  /** The greatest broker time and event time that were counted. */
  readonly brokerMs: number;
  readonly eventMs: number;
  readonly partial: Partial;
}

/**
 * The group under which a lane counts, as a plain `count`, the events of a rule whose group was one too many in its pane (`Rule.maxGroups`). No
 * real group is named so: those are JSON lists. Being a cell like any other, it is repeated, merged and rewound like any other.
 */
export const REFUSED_GROUP = '';

/** How far one lane has read: every pane that ends at or before `watermarkMs` and starts at `fromMs` or later is complete. */
export interface LaneMark {
  readonly source: Source;
  readonly watermarkMs: number;
  readonly fromMs: number;
  /** Names of rules that this lane counts only from a later time on than `fromMs`. */
  readonly ruleFromMs: ReadonlyMap<string, number>;
  /** Whether the lane had records before it that it has not read yet. */
  readonly unread: boolean;
  /** Events that came after their pane was closed, since the lane was opened. */
  readonly late: number;
}

/** What alerts are kept from telling for a while. */
export interface Silence {
  readonly id: string;
  /** Absent: every rule. */
  readonly rule?: string;
  /** Absent: every group. */
  readonly group?: string;
  readonly fromMs: number;
  /** At `fromMs` or before it: the silence is taken back. */
  readonly untilMs: number;
  readonly comment: string;
}

/** One record of `alert-partials`. */
export type Message =
  | { readonly kind: 'cells'; readonly cells: readonly Cell[] }
  /** `rules`: versions that every one of these lanes counts. */
  | { readonly kind: 'marks'; readonly rules: readonly RuleId[]; readonly marks: readonly LaneMark[] }
  | { readonly kind: 'silence'; readonly silence: Silence };

export function sourceKey({ topic, incarnation, partition }: Source): string {
  return `${topic}~${incarnation}-${partition}`;
}
