import type { OutgoingRecord } from '../publish/contract.ts';
import type { ClientLogLine } from './broker-consumer.ts';

/** A record that the client or the broker did not take. `certain`: it is not in the log; else it may be. `own`: the record's own fault, or of one that was sent with it. */
export interface DeliveryFault {
  readonly reason: string;
  readonly certain: boolean;
  readonly own: boolean;
}

/** What became of handing a record to the client: taken, no room now, or a fault. */
export type Handed = { readonly kind: 'taken' } | { readonly kind: 'full' } | ({ readonly kind: 'fault' } & DeliveryFault);

/** A record that failed after it was taken, to be told apart by its bytes: the client reports only failures, and without a handle. */
export interface FailedRecord extends DeliveryFault {
  readonly topic: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
}

/** One producer of the cluster, as group commit needs it: hand over many, then wait for all of them at once. */
export interface BrokerProducer {
  /** Rejects with BrokerError when the cluster can not be reached, or soon after the signal. */
  connect(log: (line: ClientLogLine) => void, signal?: AbortSignal): Promise<void>;
  hand(record: OutgoingRecord): Handed;
  /** Resolves when nothing handed over is in flight any more, with every record that failed. */
  settle(): Promise<readonly FailedRecord[]>;
  /** Whether the cluster answers a request within `timeoutMs`. */
  answers(timeoutMs: number): Promise<boolean>;
  close(timeoutMs: number): Promise<void>;
}
