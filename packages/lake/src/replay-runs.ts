import { FileDamage, GONE } from './file-damage.ts';
import { type ObjectStore, StoreError } from './object-store.ts';
import { isReceipt, isSentReport } from './receipt-fields.ts';
import type { Receipt, SentReport } from './replay-receipt.ts';

/** That a plan is to be sent. Orders into one consumer are carried out one by one, in the order of their numbers. */
export interface ReplayOrder {
  /** Tells two attempts at one number apart. */
  readonly attempt: string;
  readonly plan: number;
  readonly madeAtMs: number;
}

export interface Cancellation {
  readonly cancelledAtMs: number;
}

/** A run, with what stands beside its order. */
export interface ReplayRun {
  readonly id: number;
  readonly order: ReplayOrder;
  readonly isSent: boolean;
  readonly isCancelled: boolean;
  readonly hasReceipt: boolean;
}

const ID_DIGITS = 10;
const NAME = /^(\d{10})(?:\.(sent|cancelled|receipt))?\.json$/;
const FORMATS = {
  order: 'tailrace-replay-order-1',
  sent: 'tailrace-replay-sent-1',
  cancelled: 'tailrace-replay-cancelled-1',
  receipt: 'tailrace-replay-receipt-1',
} as const;
type Kind = keyof typeof FORMATS;

/**
 * The runs of replays into one consumer: objects in the lake's bucket, each put once and never changed. Beside an order stand, as it goes on,
 * that it was cancelled, that everything was sent, and the receipt.
 */
export class ReplayRuns {
  readonly #store: ObjectStore;
  readonly #prefix: string;
  /** Those that were read: they never change, and who waits for a turn looks again and again. */
  readonly #orders = new Map<number, ReplayOrder>();

  /** `prefix` is the lake's own. */
  constructor(store: ObjectStore, prefix: string, consumer: string) {
    this.#store = store;
    this.#prefix = `${prefix === '' ? '' : `${prefix}/`}_replay/${consumer}/`;
  }

  /** The plan's run; undefined where it was never run. */
  async of(plan: number): Promise<ReplayRun | undefined> {
    return (await this.list()).find(({ order }) => order.plan === plan);
  }

  /** The plan's run, with an order put for it where there is none. Safe beside others who do the same. */
  async order(order: ReplayOrder): Promise<ReplayRun> {
    const body = bodyOf('order', order);
    const runs = await this.list();
    const there = runs.find(({ order: { plan } }) => plan === order.plan);
    if (there !== undefined) return there;
    for (let id = (runs.at(-1)?.id ?? 0) + 1; ; id++) {
      const put = await this.#store.putIfAbsent(this.#key(id, 'order'), body);
      const stands = put === 'created' ? order : await this.#order(id);
      // Ours by an answer that was lost on its way, or by another command for the same plan.
      if (stands.plan === order.plan) return { id, order: stands, isSent: false, isCancelled: false, hasReceipt: false };
    }
  }

  /** All runs, in the order of their numbers. Throws FileDamage where an order makes no sense. */
  async list(): Promise<readonly ReplayRun[]> {
    const beside = new Map<number, Set<string>>();
    for await (const { key } of this.#store.list(this.#prefix)) {
      const [, digits, kind = 'order'] = NAME.exec(key.slice(this.#prefix.length)) ?? [];
      if (digits === undefined) continue;
      beside.set(Number(digits), (beside.get(Number(digits)) ?? new Set()).add(kind));
    }
    const runs: ReplayRun[] = [];
    for (const [id, kinds] of [...beside].sort(([a], [b]) => a - b)) {
      if (!kinds.has('order')) throw new FileDamage(this.#key(id, 'order'), GONE);
      const order = await this.#order(id);
      runs.push({ id, order, isSent: kinds.has('sent'), isCancelled: kinds.has('cancelled'), hasReceipt: kinds.has('receipt') });
    }
    return runs;
  }

  async cancel(id: number, cancellation: Cancellation): Promise<'created' | 'exists'> {
    return await this.#store.putIfAbsent(this.#key(id, 'cancelled'), bodyOf('cancelled', cancellation));
  }

  async isCancelled(id: number): Promise<boolean> {
    return (await this.#store.sizeBytes(this.#key(id, 'cancelled'))) !== undefined;
  }

  /** The end of the sending, as it stands: of two who say it, one is believed. */
  async putSent(id: number, report: SentReport): Promise<SentReport> {
    await this.#store.putIfAbsent(this.#key(id, 'sent'), bodyOf('sent', report));
    return (await this.sent(id)) ?? report;
  }

  /** Throws FileDamage where it makes no sense: a receipt is made from it. */
  async sent(id: number): Promise<SentReport | undefined> {
    const report = await this.#read(id, 'sent');
    if (report === undefined) return undefined;
    if (!isSentReport(report)) throw new FileDamage(this.#key(id, 'sent'), 'it does not say what was sent');
    return report;
  }

  /** The receipt as it stands. */
  async putReceipt(id: number, receipt: Receipt): Promise<Receipt> {
    await this.#store.putIfAbsent(this.#key(id, 'receipt'), bodyOf('receipt', receipt));
    return (await this.receipt(id)) ?? receipt;
  }

  /** Throws FileDamage where it makes no sense. */
  async receipt(id: number): Promise<Receipt | undefined> {
    const receipt = await this.#read(id, 'receipt');
    if (receipt === undefined) return undefined;
    if (!isReceipt(receipt)) throw new FileDamage(this.#key(id, 'receipt'), 'it does not say what a run did');
    return receipt;
  }

  async #order(id: number): Promise<ReplayOrder> {
    const known = this.#orders.get(id);
    if (known !== undefined) return known;
    const order = await this.#read(id, 'order');
    const key = this.#key(id, 'order');
    if (order === undefined) throw new FileDamage(key, GONE);
    const { attempt, plan, madeAtMs } = order;
    if (typeof attempt !== 'string' || !Number.isSafeInteger(plan) || !Number.isSafeInteger(madeAtMs))
      throw new FileDamage(key, 'it does not say which plan is to be sent');
    const read = { attempt, plan: Number(plan), madeAtMs: Number(madeAtMs) };
    this.#orders.set(id, read);
    return read;
  }

  async #read(id: number, kind: Kind): Promise<Readonly<Record<string, unknown>> | undefined> {
    const key = this.#key(id, kind);
    const body = await this.#store.get(key);
    if (body === undefined) return undefined;
    let parsed: unknown;
    try {
      parsed = JSON.parse(body.toString('utf8'));
    } catch (error) {
      throw new FileDamage(key, `it is not JSON (${error instanceof Error ? error.message : String(error)})`);
    }
    if (typeof parsed !== 'object' || parsed === null || !('format' in parsed) || parsed.format !== FORMATS[kind])
      throw new FileDamage(key, `it is no ${FORMATS[kind]}`);
    const { format: _, ...fields } = parsed as Record<string, unknown>;
    return fields;
  }

  #key(id: number, kind: Kind): string {
    if (!Number.isSafeInteger(id) || id < 1 || String(id).length > ID_DIGITS) throw new StoreError(`There can be no run ${id}.`);
    return `${this.#prefix}${String(id).padStart(ID_DIGITS, '0')}${kind === 'order' ? '' : `.${kind}`}.json`;
  }
}

function bodyOf(kind: Kind, fields: object): Buffer {
  return Buffer.from(`${JSON.stringify({ format: FORMATS[kind], ...fields })}\n`);
}
