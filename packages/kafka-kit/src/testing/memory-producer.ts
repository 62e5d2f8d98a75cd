import type { BrokerProducer, DeliveryFault, FailedRecord, Handed } from '../broker/broker-producer.ts';
import type { OutgoingRecord } from '../publish/contract.ts';
import type { MemoryCluster } from './memory-cluster.ts';

/** What a producer does wrong, decided per record; undefined where it does it right. */
export interface ProducerFaults {
  /** The client does not take the record. */
  hand?: (record: OutgoingRecord) => DeliveryFault | undefined;
  /** The broker does not take it. One that is not `certain` is in the log all the same. */
  deliver?: (record: OutgoingRecord) => DeliveryFault | undefined;
  /** The flush itself rejects, after the records were written. */
  settle?: () => Error | undefined;
}

/** A producer on the memory cluster. A record is in the log when `settle` has resolved without naming it. */
export class MemoryProducer implements BrokerProducer {
  readonly #cluster: MemoryCluster;
  readonly #queue: OutgoingRecord[] = [];
  /** Records that the client holds at most; more are answered `full`. */
  capacity = Number.POSITIVE_INFINITY;
  faults: ProducerFaults = {};
  /** While set, `settle` waits for it: the broker is slow. */
  gate: Promise<void> | undefined;
  /** Failures that no record of the group has: what an earlier, broken flush left behind. */
  readonly strangers: FailedRecord[] = [];
  readonly groups: number[] = [];
  closed = false;

  constructor(cluster: MemoryCluster) {
    this.#cluster = cluster;
  }

  async connect(): Promise<void> {
    await this.#cluster.request();
  }

  hand(record: OutgoingRecord): Handed {
    if (this.closed) return { kind: 'fault', reason: 'the producer is closed', certain: true, own: false };
    // As the real client, which would send an empty Buffer as null.
    if (record.value?.length === 0 || record.key?.length === 0)
      return { kind: 'fault', reason: 'an empty key or value can not be sent', certain: true, own: true };
    if (this.#queue.length >= this.capacity) return { kind: 'full' };
    const fault = this.faults.hand?.(record);
    if (fault !== undefined) return { kind: 'fault', ...fault };
    this.#queue.push(record);
    return { kind: 'taken' };
  }

  async settle(): Promise<readonly FailedRecord[]> {
    const group = this.#queue.splice(0);
    this.groups.push(group.length);
    while (this.#cluster.down) await this.#cluster.clock.sleep(10);
    await this.#cluster.request();
    await this.gate;
    const failed: FailedRecord[] = this.strangers.splice(0);
    for (const record of group) {
      const fault = this.faults.deliver?.(record);
      if (fault !== undefined) failed.push({ topic: record.topic, key: record.key, value: record.value, ...fault });
      if (fault === undefined || !fault.certain) this.#write(record);
    }
    const broken = this.faults.settle?.();
    if (broken !== undefined) throw broken;
    return failed;
  }

  async answers(): Promise<boolean> {
    return this.#cluster.request().then(
      () => true,
      () => false,
    );
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  #write({ topic, partition, key, value, headers }: OutgoingRecord): void {
    const { length } = this.#cluster.topic(topic).logs;
    const to = partition ?? (key ?? Buffer.alloc(0)).reduce((sum, byte) => (sum * 31 + byte) % 65_521, 0) % length;
    this.#cluster.append({ topic, partition: to }, { key, value, ...(headers === undefined ? {} : { headers }) });
  }
}
