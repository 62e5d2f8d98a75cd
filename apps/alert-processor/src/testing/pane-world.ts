import type { Random } from '@tailrace/kafka-kit/testing';
import type { Cell, LaneMark, Source } from '../messages/message.ts';
import { LanePanes } from '../panes/lane-panes.ts';
import type { EventObject, RuleSet } from '../rules/rule.ts';
import { LATENESS_MS, PANE_MS, plainRule, ruleSet } from './plain-rules.ts';

/** What a rewind may reach back further than pane and lateness: nothing needs it, and it does no harm. */
const SLACKS_MS = [0, 5 * 60_000];

export interface WorldRecord {
  readonly brokerMs: number;
  readonly event: EventObject | undefined;
}

/** What the world asks of a lane: a mutant of the rules is another one. */
export type Lane = Pick<LanePanes, 'fold' | 'changed' | 'mark' | 'setRules'>;

/** A rule of the design, broken. */
export interface Wrong {
  /** Opens a lane; LanePanes itself where no mutant stands in. */
  readonly open?: (source: Source, rules: RuleSet, fromMs: number, random: Random) => Lane;
  readonly rewinds?: boolean;
  /** Behind the last record before the commit. */
  readonly rewindMs?: number;
  /** Publishes panes that start before R, too. */
  readonly publishesBeforeR?: boolean;
}

const BOGUS = ['2099-01-01T00:00:00Z', '1970-01-01T00:00:00Z', 'yesterday', ''];
/** Mostly seconds; now and then a quiet time, or another leader whose clock is behind. */
const CLOCK_STEPS_MS = [...Array.from({ length: 18 }, () => ({ min: 0, max: 8000 })), { min: 0, max: 600_000 }, { min: -200_000, max: 0 }];
const SERVICES = ['a', 'b', 'c'];

/** A log with clocks that step back, late events, events from the future, from 1970 and without a time, and values that are no events. */
export function randomLog(random: Random): WorldRecord[] {
  const startMs = Date.UTC(2026, 0, 1) + random.whole(0, 100_000);
  let brokerMs = startMs;
  return Array.from({ length: random.whole(5, 120) }, () => {
    const step = random.pick(CLOCK_STEPS_MS);
    brokerMs += random.whole(step.min, step.max);
    if (random.chance(0.03)) return { brokerMs, event: undefined };
    const lagMs = random.chance(0.2) ? random.whole(-30_000, 120_000) : random.whole(0, 15_000);
    const timestamp = random.chance(0.1) ? random.pick(BOGUS) : new Date(brokerMs - lagMs).toISOString();
    return { brokerMs, event: { timestamp, service: random.pick(SERVICES) } };
  });
}

function ownTimeOf({ event, brokerMs }: WorldRecord): number {
  const ownMs = Date.parse(String(event?.timestamp));
  return Number.isNaN(ownMs) ? brokerMs : Math.min(ownMs, brokerMs);
}

/** What every pane of the log holds by the rules, counted from its first record by other code than the one under test. */
export function recount(log: readonly WorldRecord[]): Map<string, number> {
  const counts = new Map<string, number>();
  let greatestMs = Number.NEGATIVE_INFINITY;
  for (const record of log) {
    greatestMs = Math.max(greatestMs, record.brokerMs);
    if (record.event === undefined) continue;
    const eventMs = ownTimeOf(record);
    const paneMs = eventMs - (((eventMs % PANE_MS) + PANE_MS) % PANE_MS);
    if (paneMs + PANE_MS <= greatestMs - LATENESS_MS) continue;
    const key = paneKey(paneMs, JSON.stringify([record.event.service]));
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function paneKey(paneMs: number, group: string): string {
  return `${paneMs} ${group}`;
}

/** One partition, the process that reads it (killed and started over and over), and `alert-partials` as stage 2 keeps it. */
export class PaneWorld {
  readonly faults: string[] = [];
  /** By rule and version, then by pane and group: the partial with the highest offset. */
  private readonly kept = new Map<string, Map<string, Cell>>();
  private readonly expected: Map<string, number>;
  private readonly starts: number[];
  /** The same one for as long as the world stands: a shorter one would leave unfinished what a longer one began. */
  private readonly slackMs: number;
  private greatestMarkMs: number | undefined;
  private committed = 0;
  private position = 0;
  private lane: Lane;
  private edits = 0;
  /** Cells of killed processes that are still on their way. */
  private delayed: Cell[] = [];

  constructor(
    private readonly log: readonly WorldRecord[],
    private readonly source: Source,
    private readonly random: Random,
    private readonly wrong: Wrong = {},
  ) {
    this.slackMs = random.pick(SLACKS_MS);
    this.expected = recount(log);
    this.starts = [...this.expected.keys()].map((key) => Number(key.split(' ', 1)[0]));
    this.lane = this.restart();
  }

  private get rules(): RuleSet {
    return ruleSet([plainRule({ name: 'kept' }), plainRule({ name: 'edited', version: `v${this.edits}` })]);
  }

  /** Design, section 10: what a lane does on assignment. */
  private restart(): Lane {
    const last = this.log[this.committed - 1] ?? this.log[0];
    const rewindMs = (last?.brokerMs ?? 0) - (this.wrong.rewindMs ?? PANE_MS + LATENESS_MS + this.slackMs);
    this.position = this.wrong.rewinds === false ? this.committed : this.log.findIndex(({ brokerMs }) => brokerMs >= rewindMs);
    const fromMs = this.wrong.publishesBeforeR === true ? 0 : rewindMs;
    this.lane = this.wrong.open?.(this.source, this.rules, fromMs, this.random) ?? new LanePanes(this.source, this.rules, { fromMs });
    return this.lane;
  }

  private receive(cell: Cell): void {
    const rule = `${cell.rule.name} ${cell.rule.version}`;
    let panes = this.kept.get(rule);
    if (panes === undefined) {
      panes = new Map();
      this.kept.set(rule, panes);
    }
    const key = paneKey(cell.paneMs, cell.group);
    const known = panes.get(key);
    if (known === undefined || cell.offset >= known.offset) panes.set(key, cell);
  }

  /** Reads to the end, killed at random between any two steps, and publishes everything at last. Returns what is not as the rules promise. */
  run(): readonly string[] {
    const { random } = this;
    while (this.position < this.log.length || random.chance(0.5)) {
      this.fold(random.whole(0, 12));
      if (random.chance(0.05)) this.edit();
      if (random.chance(0.1)) this.restart();
      else this.tick();
      this.deliver(0.3);
    }
    for (const cell of this.lane.changed()) this.receive(cell);
    this.deliver(1);
    this.compare();
    return this.faults;
  }

  private fold(records: number): void {
    for (const { brokerMs, event } of this.log.slice(this.position, this.position + records)) {
      this.lane.fold(this.position, brokerMs, event);
      this.position++;
    }
  }

  private edit(): void {
    this.edits++;
    this.lane.setRules(this.rules);
  }

  private deliver(chance: number): void {
    this.delayed = this.delayed.filter((cell) => {
      const arrives = this.random.chance(chance);
      if (arrives) this.receive(cell);
      return !arrives;
    });
  }

  /** One publication, which a kill may cut short behind any of its steps. */
  private tick(): void {
    const { random } = this;
    const cells = this.lane.changed();
    const last = this.log[this.position - 1];
    const atEnd = this.position === this.log.length && last !== undefined;
    const mark = this.lane.mark(atEnd && random.chance(0.5) ? last.brokerMs + random.whole(0, 300_000) : undefined, !atEnd);
    if (random.chance(0.15)) {
      // Killed while its cells are on their way: some arrive, some arrive much later, some never.
      for (const cell of cells) {
        if (random.chance(0.4)) this.receive(cell);
        else if (random.chance(0.5)) this.delayed.push(cell);
      }
      this.restart();
      return;
    }
    for (const cell of cells) this.receive(cell);
    this.take(mark);
    if (random.chance(0.1)) this.restart();
    else this.committed = random.whole(this.committed, Math.max(this.committed, this.position));
  }

  /** A mark promises that what it covers is complete, and a restart that missed nothing must not look blind. */
  private take(mark: LaneMark): void {
    const { fromMs, watermarkMs } = mark;
    // Each look goes over the whole log: some of the marks will do.
    if (this.random.chance(0.25)) this.promised(mark);
    if (this.greatestMarkMs !== undefined && fromMs > this.greatestMarkMs)
      this.faults.push(`blind from ${this.greatestMarkMs} to ${fromMs}`);
    this.greatestMarkMs = Math.max(watermarkMs, this.greatestMarkMs ?? watermarkMs);
  }

  private promised({ fromMs, watermarkMs, ruleFromMs }: LaneMark): void {
    for (const rule of ['kept v1', `edited v${this.edits}`]) {
      const since = Math.max(fromMs, ruleFromMs.get(rule.split(' ', 1)[0] ?? '') ?? fromMs);
      this.compareRule(rule, (paneMs) => paneMs >= since && paneMs + PANE_MS <= watermarkMs, `at the mark ${watermarkMs}`);
    }
  }

  private compareRule(rule: string, covers: (paneMs: number) => boolean, when: string): void {
    const panes = this.kept.get(rule);
    let at = 0;
    for (const [key, count] of this.expected) {
      if (!covers(this.starts[at++] as number)) continue;
      const found = panes?.get(key)?.partial[1];
      if (found !== count) this.faults.push(`${rule}, pane ${key}: ${found} instead of ${count} ${when}`);
    }
  }

  /** At the end one rule is complete, and what is there of the other one's last version equals the recount. */
  private compare(): void {
    this.compareRule('kept v1', () => true, 'at the end');
    for (const rule of ['kept v1', `edited v${this.edits}`])
      for (const [key, { partial }] of this.kept.get(rule) ?? []) {
        const expected = this.expected.get(key);
        if (partial[1] !== expected) this.faults.push(`${rule}, pane ${key}: ${partial[1]} instead of ${expected} at the end`);
      }
  }
}
