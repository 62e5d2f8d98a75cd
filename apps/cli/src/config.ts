import { readFileSync } from 'node:fs';
import type { TopicProfile } from '@tailrace/events';
import type { KafkaSettings } from '@tailrace/kafka-kit';
import { ConfigError, kafkaVariables, loadConfig, serviceVariables } from '@tailrace/service';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process, with the addresses of an endpoints file (written by `npm start -- --endpoints FILE`) over it. */
export function commandEnvironment(endpointsFile: string | undefined): Environment {
  if (endpointsFile === undefined) return process.env;
  return { ...process.env, ...readEndpoints(endpointsFile) };
}

/** How many copies the topics are declared with: what was asked for, else what the environment says, as for the services. Throws ConfigError. */
export function topicProfile(asked: TopicProfile | undefined, environment: Environment): TopicProfile {
  return asked ?? loadConfig({ profile: serviceVariables.topicProfile }, environment).profile;
}

/** The Kafka settings that the environment names. Throws ConfigError. */
export function kafkaSettings(environment: Environment): KafkaSettings {
  return { clientId: 'tailrace-cli', ...loadConfig(kafkaVariables, environment) };
}

function readEndpoints(file: string): Record<string, string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new ConfigError([
      `${file} can not be read as an endpoints file (${(cause as Error).message}); make one with: npm start -- --endpoints ${file}`,
    ]);
  }
  const environment = typeof parsed === 'object' && parsed !== null && 'environment' in parsed ? parsed.environment : undefined;
  if (typeof environment !== 'object' || environment === null || !Object.values(environment).every((value) => typeof value === 'string')) {
    throw new ConfigError([`${file} holds no "environment" of names and values; make one with: npm start -- --endpoints ${file}`]);
  }
  return environment as Record<string, string>;
}
