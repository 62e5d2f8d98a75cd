import { FileDamage, GONE } from './file-damage.ts';
import { type ObjectStore, StoreError } from './object-store.ts';
import type { OffsetRange } from './records.ts';
import type { ClockStep, PlannedPartition, PlanWindow } from './replay-plan.ts';

const FORMAT = 'tailrace-replay-plan-1';
const ID_DIGITS = 10;
/** Of the attempt, in the plan's name on Kafka: 32 bits of a random UUID. */
const MARK_LENGTH = 8;
const ATTEMPT = /^[0-9A-Za-z-]+$/;
const ID = /^(\d+)\.json$/;

/** A plan as it was frozen. */
export interface ReplayPlan {
  /** Tells two attempts at one number apart. */
  readonly attempt: string;
  readonly madeAtMs: number;
  readonly stream: string;
  /** The group that gets the records. */
  readonly into: string;
  readonly window: PlanWindow;
  /** Further conditions on a record, as they were typed; all must hold. */
  readonly where?: readonly string[];
  /** The consumer is to keep what it makes of them for so many days, also where it would skip them for their age. */
  readonly keepDays?: number;
  /** Those that hold something of the window, or have lost it. */
  readonly partitions: readonly PlannedPartition[];
}

export interface StoredPlan extends ReplayPlan {
  readonly id: number;
}

/**
 * What names a plan on Kafka: its number alone is also that of another lake's plan, and of one before its bucket was emptied. At most 19 letters,
 * digits and dashes.
 */
export function planMark({ id, attempt }: Pick<StoredPlan, 'id' | 'attempt'>): string {
  return `${id}-${attempt.slice(0, MARK_LENGTH)}`;
}

/** Under which the plans lie, in the lake with this prefix. */
export function plansPrefix(prefix: string): string {
  return `${prefix === '' ? '' : `${prefix}/`}_replay/plans/`;
}

/** The plans in a lake's bucket, each an object of its own that is never changed. */
export class ReplayPlans {
  readonly #store: ObjectStore;
  readonly #prefix: string;

  /** `prefix` is the lake's own. */
  constructor(store: ObjectStore, prefix: string) {
    this.#store = store;
    this.#prefix = plansPrefix(prefix);
  }

  /** Puts the plan under the next number, and returns that. Safe beside others who do the same. */
  async put(plan: ReplayPlan): Promise<number> {
    const body = Buffer.from(`${JSON.stringify({ format: FORMAT, ...plan })}\n`);
    let id = 1 + Math.max(0, ...(await this.#ids()));
    // An answer that was lost on its way makes the second attempt meet our own plan.
    while ((await this.#store.putIfAbsent(this.#key(id), body)) === 'exists' && (await this.get(id))?.attempt !== plan.attempt) id++;
    return id;
  }

  /** Undefined where there is no such plan. Throws FileDamage where what stands there makes no sense. */
  async get(id: number): Promise<StoredPlan | undefined> {
    const key = this.#key(id);
    const body = await this.#store.get(key);
    return body === undefined ? undefined : { id, ...parsePlan(key, body) };
  }

  /** All of them, in the order of their numbers. */
  async *list(): AsyncIterable<StoredPlan> {
    for (const id of await this.#ids()) {
      const plan = await this.get(id);
      if (plan === undefined) throw new FileDamage(this.#key(id), GONE);
      yield plan;
    }
  }

  async #ids(): Promise<readonly number[]> {
    const ids: number[] = [];
    for await (const { key } of this.#store.list(this.#prefix)) {
      const id = ID.exec(key.slice(this.#prefix.length))?.[1];
      if (id !== undefined) ids.push(Number(id));
    }
    return ids;
  }

  #key(id: number): string {
    if (!Number.isSafeInteger(id) || id < 1 || String(id).length > ID_DIGITS) throw new StoreError(`There can be no plan ${id}.`);
    return `${this.#prefix}${String(id).padStart(ID_DIGITS, '0')}.json`;
  }
}

type Fields = Readonly<Record<string, unknown>>;

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

function isRange(value: unknown): value is OffsetRange {
  return isFields(value) && isWhole(value.first) && isWhole(value.next) && 0 <= value.first && value.first < value.next;
}

function areApart(ranges: readonly OffsetRange[]): boolean {
  return ranges.every(({ first }, i) => first > (ranges[i - 1]?.next ?? -1));
}

function isStep(value: unknown): value is ClockStep {
  return isFields(value) && isWhole(value.offset) && isWhole(value.backMs);
}

function isPartition(value: unknown): value is PlannedPartition {
  if (!isFields(value)) return false;
  const { topic, incarnation, partition, ranges, records, lakeBytes, missing, clockSteps } = value;
  if (!isText(topic) || !isText(incarnation) || ![partition, records, lakeBytes].every(isWhole)) return false;
  if (!Array.isArray(ranges) || !ranges.every(isRange) || !areApart(ranges)) return false;
  return Array.isArray(missing) && missing.every(isRange) && Array.isArray(clockSteps) && clockSteps.every(isStep);
}

function isWindow(value: unknown): value is PlanWindow {
  if (!isFields(value)) return false;
  const { fromMs, toMs, by, skewMs } = value;
  return isWhole(fromMs) && isWhole(toMs) && isWhole(skewMs) && fromMs < toMs && (by === 'broker' || by === 'event');
}

/** Reads a plan strictly: what it names is sent. */
function parsePlan(key: string, body: Buffer): ReplayPlan {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new FileDamage(key, `it is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  if (!isFields(parsed) || parsed.format !== FORMAT) throw new FileDamage(key, `it is no ${FORMAT}`);
  const { attempt, madeAtMs, stream, into, window, where, keepDays, partitions } = parsed;
  if (typeof attempt !== 'string' || !ATTEMPT.test(attempt) || !isWhole(madeAtMs) || !isText(stream) || !isText(into))
    throw new FileDamage(key, 'it does not say who made it, or for whom');
  if (!isWindow(window)) throw new FileDamage(key, 'its window makes no sense');
  if (where !== undefined && !(Array.isArray(where) && where.every(isText))) throw new FileDamage(key, 'its conditions make no sense');
  if (keepDays !== undefined && !(isWhole(keepDays) && keepDays > 0)) throw new FileDamage(key, 'its days to keep make no sense');
  if (!Array.isArray(partitions) || !partitions.every(isPartition)) throw new FileDamage(key, 'its partitions make no sense');
  const more = { ...(where === undefined ? {} : { where }), ...(keepDays === undefined ? {} : { keepDays }) };
  return { attempt, madeAtMs, stream, into, window, ...more, partitions };
}
