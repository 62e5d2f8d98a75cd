import type { RuleSet } from '../rules/rule.ts';
import { withCanaryRule } from '../watch/canary-rule.ts';

/** The rules that hold now, and news of others. */
export interface RuleSource {
  readonly current: RuleSet;
  onChange(listener: (rules: RuleSet) => void): void;
}

/** The rules of the file and the one that counts canaries: what both stages work by. */
export function countedRules(book: RuleSource): RuleSource {
  let of = book.current;
  let counted = withCanaryRule(of);
  return {
    get current() {
      // The same set as long as the file's is the same.
      if (of !== book.current) {
        of = book.current;
        counted = withCanaryRule(of);
      }
      return counted;
    },
    onChange(listener) {
      book.onChange(() => listener(this.current));
    },
  };
}
