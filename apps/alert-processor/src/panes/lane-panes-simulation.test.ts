import { Random } from '@tailrace/kafka-kit/testing';
import { describe, expect, it } from 'vitest';
import type { Cell, LaneMark, Source } from '../messages/message.ts';
import type { EventObject, RuleSet } from '../rules/rule.ts';
import { type Lane, PaneWorld, randomLog, type Wrong } from '../testing/pane-world.ts';
import { LATENESS_MS, PANE_MS, ruleSet } from '../testing/plain-rules.ts';
import { LanePanes } from './lane-panes.ts';

const RUNS = 1500;
const MUTANT_RUNS = 60;

function runOf(seed: number, wrong: Wrong = {}): readonly string[] {
  const random = new Random(seed);
  return [0, 1].flatMap((partition) => {
    const world = new PaneWorld(randomLog(random), { topic: 'service-events', incarnation: 'abcdefgh', partition }, random, wrong);
    return world.run();
  });
}

/** A lane that breaks one rule. */
abstract class Mutant implements Lane {
  protected readonly lane: LanePanes;

  constructor(
    protected readonly source: Source,
    protected rules: RuleSet,
    fromMs: number,
    protected readonly random: Random,
  ) {
    this.lane = new LanePanes(source, rules, { fromMs });
  }

  abstract fold(offset: number, brokerMs: number, event: EventObject | undefined): void;

  changed(): Cell[] {
    return this.lane.changed();
  }

  mark(endLookUpMs: number | undefined, unread: boolean): LaneMark {
    return this.lane.mark(endLookUpMs, unread);
  }

  setRules(rules: RuleSet): void {
    this.rules = rules;
    this.lane.setRules(rules);
  }
}

/** Takes the clock of the process that reads for the time of the log. */
class ClosedByTheClock extends Mutant {
  fold(offset: number, brokerMs: number, event: EventObject | undefined): void {
    if (this.random.chance(0.1)) this.lane.fold(offset - 1, brokerMs + this.random.whole(0, 10 * LATENESS_MS), undefined);
    this.lane.fold(offset, brokerMs, event);
  }
}

/** Opens a closed pane anew for an event that is late. */
class OpenedAgain extends Mutant {
  private greatestMs = 0;
  private reopened: LanePanes[] = [];

  fold(offset: number, brokerMs: number, event: EventObject | undefined): void {
    this.greatestMs = Math.max(this.greatestMs, brokerMs);
    this.lane.fold(offset, brokerMs, event);
    const eventMs = Math.min(Date.parse(String(event?.timestamp)), brokerMs);
    if (event === undefined || Number.isNaN(eventMs)) return;
    if (Math.floor(eventMs / PANE_MS) * PANE_MS + PANE_MS > this.greatestMs - LATENESS_MS) return;
    const again = new LanePanes(this.source, ruleSet(this.rules.rules, { latenessMs: Number.MAX_SAFE_INTEGER }), { fromMs: 0 });
    again.fold(offset, brokerMs, event);
    this.reopened.push(again);
  }

  override changed(): Cell[] {
    const cells = this.reopened.flatMap((lane) => lane.changed());
    this.reopened = [];
    return [...this.lane.changed(), ...cells];
  }
}

/** Lets an event's own time, where it lies in the future, be the time of the log. */
class LedByEvents extends Mutant {
  fold(offset: number, brokerMs: number, event: EventObject | undefined): void {
    const ownMs = Date.parse(String(event?.timestamp));
    this.lane.fold(offset, Number.isNaN(ownMs) ? brokerMs : Math.max(brokerMs, ownMs), event);
  }
}

/** Publishes what changed since the last time, not all that counts. */
class Increments extends Mutant {
  private readonly told = new Map<string, number>();

  fold(offset: number, brokerMs: number, event: EventObject | undefined): void {
    this.lane.fold(offset, brokerMs, event);
  }

  override changed(): Cell[] {
    return this.lane.changed().map((cell) => {
      const key = `${cell.rule.name} ${cell.rule.version} ${cell.paneMs} ${cell.group}`;
      const before = this.told.get(key) ?? 0;
      this.told.set(key, cell.partial[1]);
      return { ...cell, partial: ['count', cell.partial[1] - before] };
    });
  }
}

const mutants: readonly (readonly [name: string, wrong: Wrong])[] = [
  ['no rewind', { rewinds: false }],
  ['a rewind of nothing but the last record', { rewindMs: 0 }],
  ['panes before R are published', { publishesBeforeR: true }],
  ['the clock closes panes', { open: (...args) => new ClosedByTheClock(...args) }],
  ['panes are opened again', { open: (...args) => new OpenedAgain(...args) }],
  ['events move the time of the log', { open: (...args) => new LedByEvents(...args) }],
  ['increments are published', { open: (...args) => new Increments(...args) }],
];

describe('the rules of the panes, over random logs with kills at every step', () => {
  it(`make every final partial equal a recount (${RUNS} runs)`, () => {
    const wrong: string[] = [];
    for (let seed = 1; seed <= RUNS; seed++) {
      const faults = runOf(seed);
      if (faults.length > 0) wrong.push(`seed ${seed}: ${faults.slice(0, 3).join('; ')}`);
    }
    expect(wrong).toEqual([]);
  });

  it.each(mutants)('are each needed: %s', (_, wrong) => {
    let noticed = 0;
    for (let seed = 1; seed <= MUTANT_RUNS; seed++) if (runOf(seed, wrong).length > 0) noticed++;
    expect(noticed).toBeGreaterThan(MUTANT_RUNS / 2);
  });
});
