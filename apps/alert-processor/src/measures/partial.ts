/** What a pane holds of one group's events: plain data that says by itself what it is, so that it can be merged without its rule. `n` counts the events. */
export type Partial =
  | readonly [kind: 'count', n: number]
  /** `hits`: those of the `n` for which the rule's `of` holds. */
  | readonly [kind: 'ratio', n: number, hits: number]
  /** Of the `n` events that have a number in the rule's field. Serves `sum` and `mean`. */
  | readonly [kind: 'sum', n: number, sum: number]
  /** A quantile sketch in base64 of its protobuf. */
  | readonly [kind: 'sketch', n: number, sketch: string]
  /** The different values, exact up to a bound; `more` says that there were others. */
  | readonly [kind: 'distinct', n: number, values: readonly string[], more: boolean];

export type PartialKind = Partial[0];
