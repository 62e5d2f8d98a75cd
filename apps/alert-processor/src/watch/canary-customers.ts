import { partitionForKey } from '@tailrace/events';
import { CANARY_CUSTOMER, canaryGroup } from './canary-rule.ts';

/** With 12 partitions on both sides one name in 144 fits: a search that long finds none only where none is decided here. */
const TRIES = 10_000;

/**
 * Finds customers whose canaries go to a certain partition of the stream, and come back to the process that posted them: it decides about their
 * group. So what was posted and what was seen is known in one place, however many processes there are.
 */
export class CanaryCustomers {
  readonly #partitions: number;
  readonly #found = new Map<number, string>();

  /** `partitions`: how many the stream has. */
  constructor(partitions: number) {
    this.#partitions = partitions;
  }

  get partitions(): number {
    return this.#partitions;
  }

  /** The customer of a partition, the same one for as long as this process decides about it; undefined where none was found. */
  of(partition: number, decidesHere: (group: string) => boolean): string | undefined {
    const known = this.#found.get(partition);
    if (known !== undefined && decidesHere(canaryGroup(known))) return known;
    this.#found.delete(partition);
    for (let n = 0; n < TRIES; n++) {
      const customer = `${CANARY_CUSTOMER}${n}`;
      if (partitionForKey(Buffer.from(customer), this.#partitions) !== partition || !decidesHere(canaryGroup(customer))) continue;
      this.#found.set(partition, customer);
      return customer;
    }
    return undefined;
  }
}
