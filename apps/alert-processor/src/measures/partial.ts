/** What a pane holds of one group's events: plain data that says by itself what it is, so that it can be merged without its rule. `n` counts the events. */
export type Partial =
  | readonly [kind: 'count', n: number]
  /** `hits`: those of the `n` for which the rule's `of` holds. */
  | readonly [kind: 'ratio', n: number, hits: number]
  /** Of the `n` events that have a number in the rule's field. Serves `sum` and `mean`. */
  | readonly [kind: 'sum', n: number, sum: number]
  /** Of the `n` numbers, those above 0 and those below 0, by their size; what is in neither is 0. */
  | readonly [kind: 'sketch', n: number, positive: Bins, negative: Bins]
  /** The different values of the `n` events that have one; null: more than `limit`. */
  | readonly [kind: 'distinct', n: number, limit: number, values: readonly string[] | null];

export type PartialKind = Partial[0];

/** Bins of a quantile sketch, flat: index, count, index, count, … with rising indices. */
export type Bins = readonly number[];
