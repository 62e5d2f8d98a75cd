import type { Comparison, FieldPath } from '@tailrace/events';

/** What a rule's `where` means. Every part either holds for an event or does not; there is no third answer. */
export type Expression =
  /** Never nested in its own kind: `(a and b) and c` is one list of three. */
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Expression[] }
  | { readonly kind: 'not'; readonly part: Expression }
  | { readonly kind: 'comparison'; readonly comparison: Written }
  /** Holds where one of these, all with `=`, does. */
  | { readonly kind: 'in'; readonly comparisons: readonly [Written, ...Written[]] }
  | { readonly kind: 'exists'; readonly field: FieldPath }
  | { readonly kind: TextTest; readonly field: FieldPath; readonly text: string };

/** An instant is printed as it was written. */
export type Written = Comparison & { readonly text: string };

export const TEXT_TESTS = ['starts_with', 'contains'] as const;
export type TextTest = (typeof TEXT_TESTS)[number];

/** What is wrong with an expression: one sentence, and where in the text (in UTF-16 units from its start). */
export interface ExpressionProblem {
  readonly problem: string;
  readonly at: number;
}

/** Above these an expression is refused: what it costs per event, and what its reader needs of the stack, is bounded. */
export const MAX_EXPRESSION_LENGTH = 4096;
export const MAX_EXPRESSION_DEPTH = 64;
