import type { Random } from '@tailrace/kafka-kit/testing';
import type { Cell, Message, Source } from '../messages/message.ts';
import { LanePanes } from '../panes/lane-panes.ts';
import type { RuleSet } from '../rules/rule.ts';
import type { WorldRecord } from './pane-world.ts';
import { LATENESS_MS, PANE_MS } from './plain-rules.ts';

const SLACK_MS = 300_000;
const SERVICES = ['a', 'b', 'c'];
/** A pause in which a group falls silent, now and then; else a few seconds. */
const PAUSES_MS = [...Array.from({ length: 30 }, () => [0, 3000] as const), [30_000, 90_000] as const];

export interface Appended {
  readonly atMs: number;
  readonly message: Message;
}

interface Lane {
  readonly source: Source;
  readonly records: WorldRecord[];
  committed: number;
  position: number;
  panes: LanePanes;
}

/** Partitions of a stream, the lanes that read them (killed and started over and over), and one partition of `alert-partials` that they fill. */
export class StreamWorld {
  readonly log: Appended[] = [];
  nowMs = Date.UTC(2026, 0, 1);
  readonly lanes: readonly Lane[];
  /** What killed lanes sent and what is still on its way. */
  readonly #delayed: Message[] = [];
  readonly #startMs: number;
  #busy: string | undefined;

  constructor(
    public rules: RuleSet,
    readonly random: Random,
    partitions: number,
  ) {
    this.#startMs = this.nowMs;
    this.lanes = Array.from({ length: partitions }, (_, partition) => {
      const source = { topic: 'service-events', incarnation: 'abcdefgh', partition };
      return { source, records: [], committed: 0, position: 0, panes: this.#open(source, this.#startMs - 10 * SLACK_MS) };
    });
  }

  get logs(): readonly (readonly WorldRecord[])[] {
    return this.lanes.map(({ records }) => records);
  }

  /** Every lane takes up other rules. */
  setRules(rules: RuleSet): void {
    this.rules = rules;
    for (const { panes } of this.lanes) panes.setRules(rules);
  }

  step(): void {
    const { random } = this;
    if (random.chance(0.5)) this.#produce();
    const lane = random.pick(this.lanes);
    if (random.chance(0.6)) this.#read(lane, random.whole(1, 10));
    if (random.chance(0.05)) this.#kill(lane);
    if (this.#delayed.length > 0 && random.chance(0.1)) this.#append(this.#delayed.splice(random.whole(0, this.#delayed.length - 1), 1)[0]);
  }

  /** Everything is read, and so much time goes by that every window is decided. */
  settle(quietMs: number): void {
    for (const message of this.#delayed.splice(0)) this.#append(message);
    for (let passed = 0; passed < quietMs; passed += 20_000) {
      this.nowMs += 20_000;
      for (const lane of this.lanes) this.#read(lane, lane.records.length);
    }
  }

  #open(source: Source, fromMs: number): LanePanes {
    return new LanePanes(source, this.rules, { fromMs });
  }

  #produce(): void {
    const { random } = this;
    const [min, max] = random.pick(PAUSES_MS);
    this.nowMs += random.whole(min, max);
    if (random.chance(0.1)) this.#busy = random.chance(0.5) ? random.pick(SERVICES) : undefined;
    for (const { records } of this.lanes) {
      for (let n = random.whole(0, 2); n > 0; n--) {
        const service = this.#busy !== undefined && random.chance(0.8) ? this.#busy : random.pick(SERVICES);
        const lagMs = random.chance(0.1) ? random.whole(-30_000, 100_000) : random.whole(0, 8000);
        records.push({ brokerMs: this.nowMs, event: { service, timestamp: new Date(this.nowMs - lagMs).toISOString() } });
      }
    }
  }

  #read(lane: Lane, most: number): void {
    const { records } = lane;
    const endMs = this.nowMs;
    for (let n = 0; n < most && lane.position < records.length; n++) {
      const record = records[lane.position];
      if (record === undefined) break;
      lane.panes.fold(lane.position, record.brokerMs, record.event);
      lane.position++;
    }
    const cells = lane.panes.changed();
    const unread = lane.position < records.length;
    const mark = lane.panes.mark(unread ? undefined : endMs, unread);
    const marks: Message = { kind: 'marks', rules: lane.panes.ruleIds, marks: [mark] };
    if (this.random.chance(0.03)) {
      // Killed while it publishes: some arrive, some arrive later, some never.
      for (const each of this.#messages(cells)) {
        if (this.random.chance(0.4)) this.#append(each);
        else if (this.random.chance(0.6)) this.#delayed.push(each);
      }
      this.#kill(lane);
      return;
    }
    for (const each of this.#messages(cells)) this.#append(each);
    if (this.random.chance(0.1)) this.#delayed.push(marks);
    else this.#append(marks);
    if (this.random.chance(0.7)) lane.committed = lane.position;
  }

  #messages(cells: readonly Cell[]): Message[] {
    const messages: Message[] = [];
    for (let at = 0; at < cells.length; ) {
      const size = this.random.whole(1, 5);
      messages.push({ kind: 'cells', cells: cells.slice(at, at + size) });
      at += size;
    }
    // A publication that is repeated since its answer was lost.
    return this.random.chance(0.1) ? [...messages, ...messages] : messages;
  }

  /** What a lane does on assignment: it goes back so far that no pane that it publishes lacks a record. */
  #kill(lane: Lane): void {
    const last = lane.records[lane.committed - 1] ?? lane.records[0];
    const fromMs = (last?.brokerMs ?? this.#startMs) - (PANE_MS + LATENESS_MS + SLACK_MS);
    const first = lane.records.findIndex(({ brokerMs }) => brokerMs >= fromMs);
    lane.position = Math.max(first, 0);
    lane.panes = this.#open(lane.source, fromMs);
  }

  #append(message: Message | undefined): void {
    if (message !== undefined) this.log.push({ atMs: this.nowMs, message });
  }
}
