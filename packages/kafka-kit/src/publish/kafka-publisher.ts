import type { ClientLogLine } from '../broker/broker-consumer.ts';
import { createNativeProducer, DEFAULT_PRODUCER_SETTINGS, type ProducerSettings } from '../broker/native-producer.ts';
import type { KafkaSettings } from '../settings.ts';
import { systemClock } from '../time/clock.ts';
import type { Publisher } from './contract.ts';
import { createPublisher } from './publisher.ts';

/** A publisher on real producers. Rejects with BrokerError when the cluster can not be reached. */
export function connectPublisher(
  settings: KafkaSettings,
  options: {
    readonly producers: number;
    readonly maxInFlightBytes: number;
    readonly log: (line: ClientLogLine) => void;
    /** A stop: connecting gives up soon after it. */
    readonly signal?: AbortSignal;
    readonly producer?: Partial<ProducerSettings>;
  },
): Promise<Publisher> {
  const producer = { ...DEFAULT_PRODUCER_SETTINGS, ...options.producer };
  return createPublisher({
    producers: Array.from({ length: options.producers }, () => createNativeProducer(settings, producer)),
    maxInFlightBytes: options.maxInFlightBytes,
    clock: systemClock,
    log: options.log,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}
