import { isCalendarTime } from '@tailrace/kafka-kit/time';
import type { ChainId, LakeRecord } from '@tailrace/lake';
import { NoBrokerTime } from './faults.ts';

/** Where a lane stands still: before the first record whose time the lake can not name. Nothing from there on is taken in. */
export class TimeBarrier {
  readonly #chain: ChainId;
  #fault: NoBrokerTime | undefined;

  constructor(chain: ChainId) {
    this.#chain = chain;
  }

  get stands(): boolean {
    return this.#fault !== undefined;
  }

  /** The records before the first such one, before which it stands from then on; all where there is none. */
  before(records: readonly LakeRecord[]): readonly LakeRecord[] {
    const at = records.findIndex(({ timestampMs }) => !isCalendarTime(timestampMs));
    const odd = records[at];
    if (odd === undefined) return records;
    this.#fault = new NoBrokerTime(this.#chain, odd.offset, odd.timestampMs);
    return records.slice(0, at);
  }

  /** Resolves where the offset lies before it. Behind it, rejects once everything before it is in the lake (`stored`): only then may the lane halt. */
  async letsPass(offset: number, stored: (offset: number) => Promise<void>): Promise<void> {
    if (this.#fault === undefined || offset < this.#fault.offset) return;
    await stored(this.#fault.offset - 1);
    throw this.#fault;
  }
}
