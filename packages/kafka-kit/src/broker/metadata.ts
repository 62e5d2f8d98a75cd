import { BrokerError } from './broker-consumer.ts';
import { CODES } from './native-client.ts';

/**
 * The client's cache of topics. What a broker answers while it comes back can leave a topic in it without partitions or leaders, and
 * every look-up then fails at once until the cache's next refresh: seen for four minutes.
 */
export class Metadata {
  readonly #fetch: (topic: string, timeoutMs: number) => Promise<unknown>;
  readonly #running = new Map<string, Promise<void>>();

  /** `fetch` asks the cluster for a topic anew, and the client notes the answer. */
  constructor(fetch: (topic: string, timeoutMs: number) => Promise<unknown>) {
    this.#fetch = fetch;
  }

  /** Runs a look-up. Where it fails for a partition that the client does not know, the next one finds a fresh cache. */
  async refreshedWhereStale<T>(topic: string, timeoutMs: number, lookUp: () => Promise<T>): Promise<T> {
    try {
      return await lookUp();
    } catch (fault) {
      if (fault instanceof BrokerError && fault.code === CODES.unknownPartition) await this.#refresh(topic, timeoutMs);
      throw fault;
    }
  }

  /** One request for all partitions that wait for it. */
  #refresh(topic: string, timeoutMs: number): Promise<void> {
    const running = this.#running.get(topic);
    if (running !== undefined) return running;
    const done = (): void => void this.#running.delete(topic);
    // Safe to pass over a fault: the look-up that led here rejects anyway, and is tried again.
    const begun = this.#fetch(topic, timeoutMs).then(done, done);
    this.#running.set(topic, begun);
    return begun;
  }
}
