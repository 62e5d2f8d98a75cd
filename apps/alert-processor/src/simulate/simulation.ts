import type { AlertState, Transition } from '../decide/alert-state.ts';
import { Decider } from '../decide/decider.ts';
import { partitionOf } from '../messages/codec.ts';
import type { Cell, Source } from '../messages/message.ts';
import { LanePanes } from '../panes/lane-panes.ts';
import type { EventObject, RuleSet } from '../rules/rule.ts';

/** One thing that people would have been told, or would have been but for a silence. */
export interface Told {
  readonly atMs: number;
  readonly transition: Transition;
  readonly state: AlertState;
}

export interface SimulationOptions {
  readonly rules: RuleSet;
  /** The partitions of the stream. */
  readonly sources: readonly Source[];
  /** Where the clock begins. Panes that start before it are not counted, and every record from then on must be given. */
  readonly startMs: number;
  /** How often it is published and decided. Default 250 ms, as live. */
  readonly tickMs?: number;
  /** Partitions of `alert-partials`; the outcome does not depend on their number. Default 1. */
  readonly decidePartitions?: number;
  onTold(told: Told): void;
}

const DEFAULT_TICK_MS = 250;
const HOUR_MS = 3_600_000;

/** The one channel that there is, and it takes everything at once. */
const CHANNEL = 'simulated';

/**
 * Both stages of alerting in memory, on the code that runs live: lanes count panes, deciders decide, and a clock that only the caller moves makes the
 * ticks. It depends on nothing but what it is given: the same records under the same clock tell the same alerts.
 */
export class Simulation {
  readonly #options: SimulationOptions;
  readonly #tickMs: number;
  readonly #lanes: readonly LanePanes[];
  readonly #deciders: readonly Decider[];
  /** By rule and group: the keys of the transitions that were told, of those that the state still holds. */
  readonly #told = new Map<string, ReadonlySet<string>>();
  #rules: RuleSet;
  #lastTickMs: number;
  #lastSweepMs: number;
  #nowMs: number;
  /** Whether something happened that the next tick must look at. */
  #stirred = true;

  constructor(options: SimulationOptions) {
    const { rules, sources, startMs, tickMs = DEFAULT_TICK_MS, decidePartitions = 1 } = options;
    this.#options = options;
    this.#tickMs = tickMs;
    this.#rules = rules;
    this.#nowMs = startMs;
    this.#lastTickMs = startMs;
    this.#lastSweepMs = startMs;
    this.#lanes = sources.map((source) => new LanePanes(source, rules, { fromMs: startMs }));
    this.#deciders = Array.from({ length: decidePartitions }, (_, partition) => {
      const decider = new Decider({ partition, ownEpoch: 0, channels: [CHANNEL] });
      decider.setSources(sources);
      decider.setRules(rules);
      return decider;
    });
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** A reload while it runs. */
  setRules(rules: RuleSet): void {
    this.#rules = rules;
    for (const lane of this.#lanes) lane.setRules(rules);
    for (const decider of this.#deciders) decider.setRules(rules);
    this.#stirred = true;
  }

  /** A record that arrives now. `lane`: the index of its partition in `sources`. Offsets grow, broker times as they do in Kafka: mostly. */
  fold(lane: number, offset: number, brokerMs: number, event: EventObject | undefined): void {
    const panes = this.#lanes[lane];
    if (panes === undefined) throw new RangeError(`there are ${this.#lanes.length} partitions, and none with the index ${lane}`);
    panes.fold(offset, brokerMs, event);
    this.#stirred = true;
  }

  /** Moves the clock, with every tick on the way that can change anything. */
  advance(toMs: number): void {
    for (let at = this.#nextTickMs(); at <= toMs; at = this.#nextTickMs()) this.#tick(at);
    this.#nowMs = Math.max(this.#nowMs, toMs);
  }

  /** While nothing arrives, only time decides: where a pane is passed, and where a silence begins or ends. */
  #nextTickMs(): number {
    const { paneMs, latenessMs, silences } = this.#rules;
    const last = this.#lastTickMs;
    // Ticks that were left out before a record came stay left out.
    if (this.#stirred) return this.#onGrid(Math.max(last + 1, this.#nowMs));
    let next = (Math.floor((last - latenessMs) / paneMs) + 1) * paneMs + latenessMs;
    for (const { fromMs, untilMs } of silences) {
      if (fromMs > last && fromMs < next) next = fromMs;
      if (untilMs > last && untilMs < next) next = untilMs;
    }
    return this.#onGrid(next);
  }

  /** The first tick at or behind a time. */
  #onGrid(ms: number): number {
    const { startMs } = this.#options;
    return startMs + Math.ceil((ms - startMs) / this.#tickMs) * this.#tickMs;
  }

  #tick(nowMs: number): void {
    this.#nowMs = nowMs;
    this.#lastTickMs = nowMs;
    this.#stirred = false;
    this.#publish(nowMs);
    for (const decider of this.#deciders) {
      for (const state of decider.tick(nowMs)) this.#tell(decider, state, nowMs);
      decider.takeSilences();
    }
    if (nowMs - this.#lastSweepMs >= HOUR_MS) this.#sweep(nowMs);
  }

  #publish(nowMs: number): void {
    const count = this.#deciders.length;
    const cells: Cell[][] = Array.from({ length: count }, () => []);
    for (const lane of this.#lanes) {
      for (const cell of lane.changed()) cells[count === 1 ? 0 : partitionOf(cell.rule.name, cell.group, count)]?.push(cell);
    }
    const marks = this.#lanes.map((lane) => lane.mark(nowMs, false));
    const rules = this.#lanes[0]?.ruleIds ?? [];
    for (const [i, decider] of this.#deciders.entries()) {
      decider.accept({ kind: 'cells', cells: cells[i] ?? [] }, nowMs);
      decider.accept({ kind: 'marks', rules, marks }, nowMs);
    }
  }

  #tell(decider: Decider, state: AlertState, nowMs: number): void {
    const key = JSON.stringify([state.rule, state.group]);
    const before = this.#told.get(key);
    const keys = new Set<string>();
    for (const transition of state.transitions) {
      const mark = `${transition.notification.key} ${transition.silencedBy ?? ''}`;
      keys.add(mark);
      if (before?.has(mark) !== true) this.#options.onTold({ atMs: nowMs, transition, state });
      for (const { status, key: sendKey, channel } of transition.sends) {
        if (status === 'pending') decider.delivered(sendKey, channel, { kind: 'sent' }, 1, nowMs);
      }
    }
    this.#told.set(key, keys);
  }

  /** Forgets alerts that are long over, as their owner does live. */
  #sweep(nowMs: number): void {
    this.#lastSweepMs = nowMs;
    for (const decider of this.#deciders) {
      for (const record of decider.takeExpired(nowMs)) {
        if (record.kind === 'alert') this.#told.delete(JSON.stringify([record.rule, record.group]));
      }
    }
  }
}
