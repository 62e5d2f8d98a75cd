import { readFileSync } from 'node:fs';
import type { ClientOptions } from '@opensearch-project/opensearch';
import type { TopicProfile } from '@tailrace/events';
import type { KafkaSettings } from '@tailrace/kafka-kit';
import { kafkaVariables, loadConfig, opensearchVariables } from '@tailrace/service';
import { type Endpoints, environmentOf } from '@tailrace/stack';
import type { StartOptions } from './options.mjs';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Of this process: services are given it, and what it names for them is looked at first. */
export const ownEnvironment: Environment = process.env;

/** How this process and the services reach the servers. */
export interface Connections {
  /** What the services are given: this process's environment, with our own servers' addresses over it. */
  readonly environment: Environment;
  readonly profile: TopicProfile;
  readonly kafka: KafkaSettings;
  readonly opensearch: ClientOptions;
}

const REQUEST_TIMEOUT_MS = 10_000;

/** Own servers ask for no credentials; how given ones are reached is read as the services read it. Throws ConfigError. */
export function connectionsTo(endpoints: Endpoints, { servers, brokers }: Pick<StartOptions, 'servers' | 'brokers'>): Connections {
  const own = environmentOf(endpoints);
  const environment = servers === 'own' ? { ...process.env, ...own } : process.env;
  const asked = servers === 'own' ? own : process.env;
  const isSingleBroker = servers === 'own' ? brokers === 1 : process.env.TAILRACE_TOPIC_PROFILE === 'local';
  const { url, username, password, caLocation } = loadConfig(opensearchVariables, asked);
  return {
    environment,
    profile: isSingleBroker ? 'local' : 'cluster',
    kafka: { clientId: 'tailrace-start', ...loadConfig(kafkaVariables, asked) },
    opensearch: {
      node: url,
      requestTimeout: REQUEST_TIMEOUT_MS,
      ...(username === undefined || password === undefined ? {} : { auth: { username, password } }),
      ...(caLocation === undefined ? {} : { ssl: { ca: readFileSync(caLocation) } }),
    },
  };
}
