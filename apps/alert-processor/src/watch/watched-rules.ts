import type { RuleSource } from '../panes/open-panes.ts';
import type { RuleSet } from '../rules/rule.ts';
import { withCanaryRule } from './canary-rule.ts';

/** The rules of the files and, beside them, the one that counts canaries: what both stages go by. */
export class WatchedRules implements RuleSource {
  readonly #source: RuleSource;
  #from: RuleSet;
  #current: RuleSet;

  constructor(source: RuleSource) {
    this.#source = source;
    this.#from = source.current;
    this.#current = withCanaryRule(this.#from);
  }

  /** The same object until the rules change: by that the stages know that they did not. */
  get current(): RuleSet {
    const { current } = this.#source;
    if (current !== this.#from) {
      this.#from = current;
      this.#current = withCanaryRule(current);
    }
    return this.#current;
  }

  onChange(listener: (rules: RuleSet) => void): void {
    this.#source.onChange(() => listener(this.current));
  }
}
