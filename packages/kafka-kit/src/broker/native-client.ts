import kafka from '@confluentinc/kafka-javascript';
import type { KafkaSettings } from '../settings.ts';
import { BrokerError, type ClientLogLine } from './broker-consumer.ts';

/** What the client's published types leave out; each was seen to exist at run time. */
declare module '@confluentinc/kafka-javascript/types/rdkafka.js' {
  interface KafkaConsumer {
    incrementalAssign(assignments: Assignment[]): this;
    incrementalUnassign(assignments: Assignment[]): this;
    assignmentLost(): boolean;
    setDefaultIsTimeoutOnlyForFirstMessage(only: boolean): void;
  }
}

/** librdkafka's error codes, as far as we act on them. */
export const CODES = {
  assignPartitions: -175,
  revokePartitions: -174,
  noOffset: -168,
  unknownPartition: -190,
  /** The client’s own word, from the metadata. */
  unknownTopic: -188,
  /** The broker’s word. */
  unknownTopicOrPartition: 3,
  queueFull: -184,
  timedOut: -185,
  transport: -195,
  messageTimedOut: -192,
  fatal: -150,
  illegalGeneration: 22,
  unknownMember: 25,
  staleMemberEpoch: 113,
} as const;

/** `KafkaSettings` in librdkafka's names. Secrets stay in this object: it is never logged. */
export function nativeSettings(settings: KafkaSettings): Record<string, string | number | boolean> {
  const optional = {
    'sasl.mechanisms': settings.saslMechanism,
    'sasl.username': settings.saslUsername,
    'sasl.password': settings.saslPassword,
    'ssl.ca.location': settings.sslCaLocation,
  };
  return {
    'bootstrap.servers': settings.bootstrapServers,
    'client.id': settings.clientId,
    'security.protocol': settings.securityProtocol,
    // The client tells its own log lines as events; without this they would go to standard error past our logs.
    event_cb: true,
    log_level: 5,
    // The default waits up to 10 s between attempts: a broker that is back would still be away for us.
    'reconnect.backoff.max.ms': 1000,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  };
}

interface NativeFault {
  readonly message: string;
  readonly code?: number;
  readonly isFatal?: boolean;
}

export function toBrokerError(fault: NativeFault): BrokerError {
  return new BrokerError(fault.message, fault.code ?? -1, fault.isFatal === true || fault.code === CODES.fatal);
}

/** Turns a client call with a callback into a promise that rejects with BrokerError. */
export function ask<T>(call: (callback: (fault: NativeFault | null | undefined, result: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    try {
      call((fault, result) => (fault ? reject(toBrokerError(fault)) : resolve(result)));
    } catch (fault) {
      reject(isFault(fault) ? toBrokerError(fault) : fault);
    }
  });
}

export function isFault(fault: unknown): fault is NativeFault {
  return typeof fault === 'object' && fault !== null && 'message' in fault && 'code' in fault;
}

interface EventedClient {
  on(event: 'event.log', listener: (line: { severity: number; fac: string; message: string }) => void): unknown;
  on(event: 'event.error', listener: (error: { message: string }) => void): unknown;
}

/** Passes the client's own log lines and errors to `log`. Its errors carry no code of their own, only text. */
export function tellLog(client: EventedClient, log: (line: ClientLogLine) => void): void {
  client.on('event.log', ({ severity, fac, message }) => log({ severity, facility: fac, message }));
  client.on('event.error', ({ message }) => log({ severity: 4, facility: 'ERROR', message }));
}

export { kafka };
