import type { ServerName } from './toolchain/servers.mjs';

/** How many brokers there can be: one, or the three that are needed to keep every record twice while one is away. */
export type BrokerCount = 1 | 3;

export type BrokerName = 'kafka' | 'kafka-1' | 'kafka-2' | 'kafka-3';

/** A server's process: of Kafka there can be several. */
export type InstanceName = Exclude<ServerName, 'kafka'> | BrokerName;

const BROKERS: Readonly<Record<BrokerCount, readonly BrokerName[]>> = { 1: ['kafka'], 3: ['kafka-1', 'kafka-2', 'kafka-3'] };

/** The names of the brokers, in the order of their node ids, which begin at 1. They name data folders, logs and settings files as well. */
export function brokerNames(brokers: BrokerCount): readonly BrokerName[] {
  return BROKERS[brokers];
}
