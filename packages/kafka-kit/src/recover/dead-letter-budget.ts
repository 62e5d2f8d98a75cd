/** When so many keys fail at once that the fault is likely the consumer's own. */
export interface BudgetRule {
  /** How many of a partition's latest records are looked at. */
  readonly windowRecords: number;
  /** So many dead records of one key count; more are that key's own trouble. */
  readonly recordsPerKey: number;
  /** Fewer failing keys never stop a partition, however many records they have. */
  readonly minKeys: number;
  /** Fewer dead records, counted as above, never do: two bad records in a row are no sign. */
  readonly minRecords: number;
}

export const BUDGET_RULE: BudgetRule = { windowRecords: 1000, recordsPerKey: 50, minKeys: 5, minRecords: 100 };

/** What was found when most keys fail. `keys`: the largest first. */
export interface BudgetVerdict {
  readonly records: number;
  readonly dead: number;
  readonly keys: readonly (readonly [key: string, records: number])[];
}

/**
 * The latest records of one partition, by whether they were dead and under which key. Most keys fail when at least `minKeys` do and
 * their dead records, each key's counted up to its budget, are more than all records that went well. So one bad key never stops the
 * others, be it most of the traffic: what it has above its budget counts on neither side.
 */
export class DeadLetterBudget {
  readonly #rule: BudgetRule;
  /** Runs of records that had the same fate, the oldest first; without a key: they went well. */
  readonly #runs: { readonly key: string | undefined; records: number }[] = [];
  readonly #dead = new Map<string, number>();
  #records = 0;
  #well = 0;
  /** The dead records, of each key no more than its budget. */
  #counted = 0;

  constructor(rule: BudgetRule) {
    this.#rule = rule;
  }

  /** Counts records that are dead under a key, or that went well. */
  add(key: string | undefined, records: number): void {
    if (records === 0) return;
    const last = this.#runs.at(-1);
    if (last !== undefined && last.key === key) last.records += records;
    else this.#runs.push({ key, records });
    this.#count(key, records);
    while (this.#records > this.#rule.windowRecords) this.#forgetOldest(this.#records - this.#rule.windowRecords);
  }

  /** What is found when most keys fail; undefined when they do not. */
  verdict(): BudgetVerdict | undefined {
    const { minKeys, minRecords } = this.#rule;
    if (this.#dead.size < minKeys || this.#counted < minRecords || this.#counted <= this.#well) return undefined;
    return {
      records: this.#records,
      dead: this.#records - this.#well,
      keys: [...this.#dead].sort(([, a], [, b]) => b - a),
    };
  }

  #forgetOldest(records: number): void {
    const oldest = this.#runs[0];
    if (oldest === undefined) return;
    const gone = Math.min(records, oldest.records);
    oldest.records -= gone;
    if (oldest.records === 0) this.#runs.shift();
    this.#count(oldest.key, -gone);
  }

  #count(key: string | undefined, records: number): void {
    this.#records += records;
    if (key === undefined) {
      this.#well += records;
      return;
    }
    const before = this.#dead.get(key) ?? 0;
    const now = before + records;
    this.#counted += Math.min(now, this.#rule.recordsPerKey) - Math.min(before, this.#rule.recordsPerKey);
    if (now > 0) this.#dead.set(key, now);
    else this.#dead.delete(key);
  }
}
