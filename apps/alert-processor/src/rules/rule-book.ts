import type { Clock } from '@tailrace/kafka-kit';
import { type Check, ConfigError } from '@tailrace/service';
import { type RulesOptions, readRuleFiles } from './read-rules.ts';
import { problemLine } from './reading.ts';
import type { RuleSet } from './rule.ts';
import { type RuleFiles, readRulesAt } from './rule-files.ts';

/** How often the files are looked at. */
export const LOOK_EVERY_MS = 2000;

/** A log shows so many problems of a file; `tailrace rules check` shows all. */
const SHOWN_PROBLEMS = 20;

export interface RuleBookOptions extends RulesOptions {
  /** A file, or a folder of *.yaml files. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: { info(fields: object, sentence: string): void; error(fields: object, sentence: string): void };
  /** What else must hold for rules: a sentence for each that does not. */
  readonly check?: (rules: RuleSet) => readonly string[];
}

/**
 * The rules that hold now. Files are looked at every LOOK_EVERY_MS, and at once on SIGHUP. Files that make no sense, or are gone, leave the rules as they
 * were: that is logged once, told by `health`, and shown as a metric.
 */
export class RuleBook {
  readonly #options: RuleBookOptions;
  readonly #stop = new AbortController();
  readonly #listeners: ((rules: RuleSet) => void)[] = [];
  readonly #onHangup = (): void => {
    void this.look({ atOnce: true });
  };
  #current: RuleSet;
  /** Of the files that `#current` or `#problems` were made from. */
  #judged: string;
  /** Of the files at the last look. */
  #seen: string;
  #sinceMs: number;
  /** From when on what the last change brought is counted; undefined while none was taken over. */
  #newFromMs: number | undefined;
  #problems: readonly string[] = [];
  #looking: Promise<void> = Promise.resolve();

  private constructor(options: RuleBookOptions, current: RuleSet, digest: string) {
    this.#options = options;
    this.#current = current;
    this.#judged = digest;
    this.#seen = digest;
    this.#sinceMs = options.clock.nowMs();
  }

  /** Reads the rules for the first time. Throws ConfigError with every problem. */
  static async open(options: RuleBookOptions): Promise<RuleBook> {
    const files = await readRulesAt(options.path);
    const read = judge(files, options);
    if ('problems' in read) throw new ConfigError(read.problems);
    const book = new RuleBook(options, read.rules, files.digest);
    options.log.info({ rules: read.rules.rules.length }, `${read.rules.rules.length} rules are read from ${options.path}`);
    process.on('SIGHUP', book.#onHangup);
    void book.#run();
    return book;
  }

  get current(): RuleSet {
    return this.#current;
  }

  /** Whether the files as they are now were refused, so that the rules are those of before. */
  get refused(): boolean {
    return this.#problems.length > 0;
  }

  /** Told the new rules after each change, in the order of the calls. */
  onChange(listener: (rules: RuleSet) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Looks at the files now. A change is taken over when two looks in a row saw the same, so that a file that is just being written is not taken for one
   * with fewer rules; `atOnce` does not wait for that.
   */
  look({ atOnce = false }: { readonly atOnce?: boolean } = {}): Promise<void> {
    // One after the other: a slow disk must not let an earlier look win.
    this.#looking = this.#looking.then(() => this.#look(atOnce));
    return this.#looking;
  }

  health(): Check {
    const { length } = this.#current.rules;
    const since = new Date(this.#sinceMs).toISOString();
    const [first, ...more] = this.#problems;
    if (first === undefined) return { state: 'ok', sentence: `${length} rules hold since ${since}${this.#newWords()}.` };
    const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
    return { state: 'degraded', sentence: `The rules as they stand now are refused, and those from ${since} hold: ${first}${others}` };
  }

  async close(): Promise<void> {
    process.off('SIGHUP', this.#onHangup);
    this.#stop.abort();
    await this.#looking;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      await this.#options.clock.sleep(LOOK_EVERY_MS, signal);
      if (signal.aborted) return;
      await this.look();
    }
  }

  async #look(atOnce: boolean): Promise<void> {
    const files = await readRulesAt(this.#options.path);
    const isSettled = atOnce || files.digest === this.#seen;
    this.#seen = files.digest;
    if (!isSettled || files.digest === this.#judged) return;
    this.#judged = files.digest;
    const read = judge(files, this.#options);
    if ('problems' in read) return this.#refuse(read.problems);
    this.#problems = [];
    this.#take(read.rules);
  }

  #newWords(): string {
    return this.#newFromMs === undefined ? '' : `; what is new in them counts from ${new Date(this.#newFromMs).toISOString()} on`;
  }

  #refuse(problems: readonly string[]): void {
    this.#problems = problems;
    const shown = problems.slice(0, SHOWN_PROBLEMS);
    this.#options.log.error({ problems: shown }, `the rules are refused, and those of before go on: ${shown[0] ?? ''}`);
  }

  #take(rules: RuleSet): void {
    this.#current = rules;
    this.#sinceMs = this.#options.clock.nowMs();
    // No lane has read a broker time that is later: each begins at the latest with the pane that comes next.
    this.#newFromMs = (Math.floor(this.#sinceMs / rules.paneMs) + 1) * rules.paneMs;
    this.#options.log.info({ rules: rules.rules.length }, `${rules.rules.length} rules hold from now on${this.#newWords()}`);
    for (const listener of this.#listeners) listener(rules);
  }
}

function judge(files: RuleFiles, options: RuleBookOptions): { readonly rules: RuleSet } | { readonly problems: readonly string[] } {
  if ('problem' in files) return { problems: [files.problem] };
  const { paneMs, latenessMs, notifiers } = options;
  const read = readRuleFiles(files.files, { paneMs, latenessMs, notifiers });
  if ('problems' in read) return { problems: read.problems.map(problemLine) };
  const faults = options.check?.(read.rules) ?? [];
  return faults.length > 0 ? { problems: faults } : read;
}
