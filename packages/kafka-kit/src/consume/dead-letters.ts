import { reasonsOf } from '../observe/reasons.ts';
import type { Published, Publisher } from '../publish/contract.ts';
import { type DeadLetter, deadLetterRecord } from '../recover/dead-letter.ts';
import { BUDGET_RULE, type BudgetRule, type BudgetVerdict, DeadLetterBudget } from '../recover/dead-letter-budget.ts';
import type { LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';
import type { RecordBatch } from './record-batch.ts';

/** Where a group's dead letters go. */
export interface DeadLetterPort {
  readonly publisher: Pick<Publisher, 'publish'>;
  /** The topic of the dead letters of a source topic; it has as many partitions. */
  readonly topic: (source: string) => string;
  /** Keeps a record that can not be published, however often it is tried. Resolves once it is durable; a throw is an outage. */
  readonly unsendable: (letter: DeadLetter, why: string) => Promise<void>;
  /** When a lane stops instead; undefined: never. */
  readonly budget: DeadLetterHalt | undefined;
}

/** When most keys fail at once, the sign of a fault of our own, a lane stops rather than bury everything. */
export interface DeadLetterHalt {
  /** Whose trouble a dead letter is: a reason and a sender, say. */
  readonly keyOf: (letter: DeadLetter) => string;
  /** What to do when the records are bad indeed, as the end of a sentence. */
  readonly wayOut: string;
  /** The command that shows the record of a dead letter. */
  readonly look: (letter: DeadLetter) => string;
  readonly rule?: BudgetRule;
}

/** What a sink said of one record of a batch. */
export interface DeadRecord {
  readonly index: number;
  readonly reason: string;
  readonly cause: unknown;
}

/** Why a lane stops: what was found, and the record at which. */
export interface BudgetHalt extends BudgetVerdict {
  readonly example: DeadLetter;
}

/** The dead records of one batch that are not kept yet. Until they are, the batch counts as in flight: a drain waits for it. */
interface Burial {
  readonly batch: RecordBatch;
  left: readonly DeadLetter[];
  sending: boolean;
}

/** What became of one try to keep dead letters. */
interface Kept {
  readonly published: readonly DeadLetter[];
  readonly unsendable: readonly { readonly letter: DeadLetter; readonly why: string }[];
  readonly left: readonly DeadLetter[];
  readonly fault: unknown;
}

/** A try is given up by then: what was not handed to the producer is withdrawn, the rest may be there twice after the next one. */
const PUBLISH_MS = 30_000;
const MAX_NAMED_KEYS = 5;

/** Brings dead records to where they are kept, and settles them only then (I7). */
export class DeadLetters {
  readonly #context: LoopContext;
  readonly #port: DeadLetterPort;
  /** Told when a lane's burials are done, or were given up. */
  readonly #ended: (lane: LaneState, batch: RecordBatch) => void;
  readonly #burials = new WeakMap<LaneState, Set<Burial>>();
  readonly #budgets = new WeakMap<LaneState, DeadLetterBudget>();

  constructor(context: LoopContext, port: DeadLetterPort, ended: (lane: LaneState, batch: RecordBatch) => void) {
    this.#context = context;
    this.#port = port;
    this.#ended = ended;
  }

  /** Counts the records of a batch that all went well. */
  well(lane: LaneState, records: number): void {
    if (this.#port.budget !== undefined) this.#budgetOf(lane).add(undefined, records);
  }

  /** Takes the dead records of a batch, which has not left `inFlight`. Undefined when it did; else why the lane must stop instead. */
  take(lane: LaneState, batch: RecordBatch, dead: readonly DeadRecord[]): BudgetHalt | undefined {
    const letters = dead.map((each) => this.#letter(batch, each));
    const verdict = this.#count(lane, batch, dead, letters);
    if (verdict !== undefined) return verdict;
    const burial: Burial = { batch, left: letters, sending: false };
    const burials = this.#burials.get(lane) ?? new Set();
    this.#burials.set(lane, burials.add(burial));
    this.#send(lane, burial);
    return undefined;
  }

  /** Whether dead records of the lane wait to be kept. */
  waits(lane: LaneState): boolean {
    return (this.#burials.get(lane)?.size ?? 0) > 0;
  }

  /** Tries again what is due. A lane that is given back does not wait for another try: its next owner reads the record again. */
  turn(lane: LaneState, nowMs: number): void {
    const burials = this.#burials.get(lane);
    if (burials === undefined || burials.size === 0) return;
    for (const burial of burials) {
      if (burial.sending) continue;
      if (lane.phase.kind === 'draining') this.#end(lane, burial);
      else if (nowMs >= (lane.outage?.retryAtMs ?? 0)) this.#send(lane, burial);
    }
  }

  /** Why the lane stops, in one sentence. */
  sentence(lane: LaneState, { records, dead, keys, example }: BudgetHalt): string {
    const named = keys.slice(0, MAX_NAMED_KEYS).map(([key, count]) => `${key}: ${count}`);
    const more = keys.length > MAX_NAMED_KEYS ? ` and ${keys.length - MAX_NAMED_KEYS} more` : '';
    const what = `of the last ${records} records of ${lane.topic}, partition ${lane.partition}, ${dead} are dead, under ${keys.length} keys (${named.join(', ')}${more})`;
    const detail = example.detail === '' ? '' : ` (${example.detail})`;
    const shown = `for example offset ${example.origin.offset}, ${example.reason}${detail}: look at it with ${this.#port.budget?.look(example)}`;
    return `Group ${this.#context.options.group} stopped this partition: ${what}, which looks like a fault of its own; ${shown}. Put it right and restart it: it reads on from offset ${lane.ledger.nextToRead}; ${this.#port.budget?.wayOut ?? ''}.`;
  }

  /** In their order, since a batch may be longer than what a budget looks at: its good records behind its dead ones would hide them, or the reverse. */
  #count(lane: LaneState, batch: RecordBatch, dead: readonly DeadRecord[], letters: readonly DeadLetter[]): BudgetHalt | undefined {
    const { budget } = this.#port;
    if (budget === undefined) return undefined;
    const counted = this.#budgetOf(lane);
    let next = 0;
    for (const [i, letter] of letters.entries()) {
      const index = dead[i]?.index ?? next;
      counted.add(undefined, index - next);
      counted.add(budget.keyOf(letter), 1);
      next = index + 1;
      const verdict = counted.verdict();
      if (verdict !== undefined) return { ...verdict, example: letter };
    }
    counted.add(undefined, batch.length - next);
    return undefined;
  }

  #send(lane: LaneState, burial: Burial): void {
    burial.sending = true;
    // An async wrapper, so that a port that throws at once is an outage like any other.
    void (async () => this.#keep(burial.left))().then(
      (kept) => this.#context.enter(() => this.#kept(lane, burial, kept)),
      (fault: unknown) => this.#context.enter(() => this.#kept(lane, burial, { published: [], unsendable: [], left: burial.left, fault })),
    );
  }

  /** One try, beside the loop. */
  async #keep(letters: readonly DeadLetter[]): Promise<Kept> {
    const records = letters.map((letter) => deadLetterRecord(letter, this.#port.topic(letter.origin.topic)));
    const fates = await this.#port.publisher.publish(records, { deadlineMs: PUBLISH_MS });
    const published: DeadLetter[] = [];
    const unsendable: { letter: DeadLetter; why: string }[] = [];
    const left: DeadLetter[] = [];
    let fault: unknown;
    for (const [i, letter] of letters.entries()) {
      const fate: Published = fates[i] ?? { kind: 'unknown', reason: 'the publisher gave no answer' };
      if (fate.kind === 'acknowledged') published.push(letter);
      else if (fate.kind === 'refused' && fault === undefined) {
        try {
          await this.#port.unsendable(letter, fate.reason);
          unsendable.push({ letter, why: fate.reason });
        } catch (cause) {
          // Named, and an outage whatever it is: nothing else can settle this record.
          fault = new Error(`a dead record that was refused can not be stored apart: ${reasonsOf(cause)}`, { cause });
          left.push(letter);
        }
      } else {
        fault ??= new Error(`dead letters can not be written: ${fate.reason}`);
        left.push(letter);
      }
    }
    return { published, unsendable, left, fault };
  }

  #kept(lane: LaneState, burial: Burial, { published, unsendable, left, fault }: Kept): void {
    burial.sending = false;
    // Another lane owns the partition by now, or this one was opened anew: what was kept is read again, and kept twice (I5).
    if (!this.#context.owns(lane) || !lane.inFlight.has(burial.batch)) return;
    const { observe } = this.#context;
    const reasons = new Map<string, number>();
    for (const { reason, via } of published) {
      lane.ledger.settle(via.offset);
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    for (const [reason, records] of reasons) observe({ kind: 'dead-lettered', lane: lane.tp, reason, records });
    for (const { letter, why } of unsendable) {
      lane.ledger.settle(letter.via.offset);
      observe({ kind: 'unsendable', lane: lane.tp, offset: letter.via.offset, reason: letter.reason, why });
    }
    if (published.length + unsendable.length > 0) lane.reopenings = 0;
    burial.left = left;
    if (left.length === 0 || lane.phase.kind === 'draining') this.#end(lane, burial);
    else this.#context.outage(lane, 'dead-letter', fault);
  }

  #end(lane: LaneState, burial: Burial): void {
    this.#burials.get(lane)?.delete(burial);
    this.#ended(lane, burial.batch);
  }

  #letter(batch: RecordBatch, { index, reason, cause }: DeadRecord): DeadLetter {
    const { topic, partition, incarnation } = batch.source;
    return {
      group: this.#context.options.group,
      reason,
      detail: cause === undefined ? '' : reasonsOf(cause),
      origin: batch.origin(index),
      via: { topic, partition, incarnation, offset: batch.offset(index), timestampMs: batch.timestampMs(index) },
      attempts: batch.attempt,
      replays: batch.replays(index),
      failedAtMs: this.#context.clock.nowMs(),
      key: batch.key(index),
      value: batch.value(index),
      headers: batch.headers(index),
    };
  }

  #budgetOf(lane: LaneState): DeadLetterBudget {
    let budget = this.#budgets.get(lane);
    if (budget === undefined) {
      budget = new DeadLetterBudget(this.#port.budget?.rule ?? BUDGET_RULE);
      this.#budgets.set(lane, budget);
    }
    return budget;
  }
}
