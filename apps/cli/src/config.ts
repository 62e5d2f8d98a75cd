import { readFileSync } from 'node:fs';
import type { TopicProfile } from '@tailrace/events';
import type { KafkaSettings } from '@tailrace/kafka-kit';
import {
  ConfigError,
  type ConfigOf,
  kafkaVariables,
  loadConfig,
  type S3Config,
  s3Variables,
  serviceVariables,
  type VariableTable,
} from '@tailrace/service';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where this command finds its servers. */
export interface Place {
  /** The endpoints file that was named; undefined: the environment says it. */
  readonly file: string | undefined;
  readonly environment: Environment;
}

/**
 * The environment of this process, with the addresses of an endpoints file (written by `npm start -- --endpoints FILE`) over it. The rules that it names
 * stand for ALERT_RULES where that is not set: whoever names rules means his own.
 */
export function commandPlace(file: string | undefined): Place {
  if (file === undefined) return { file, environment: process.env };
  const { environment, rules } = readEndpoints(file);
  const known = rules === undefined || (process.env.ALERT_RULES ?? '') !== '' ? {} : { ALERT_RULES: rules };
  return { file, environment: { ...process.env, ...environment, ...known } };
}

/** How many copies the topics are declared with: what was asked for, else what the environment says, as for the services. Throws ConfigError. */
export function topicProfile(asked: TopicProfile | undefined, { environment }: Place): TopicProfile {
  return asked ?? loadConfig({ profile: serviceVariables.topicProfile }, environment).profile;
}

/** The Kafka settings of the place. Throws ConfigError. */
export function kafkaSettings(place: Place): KafkaSettings {
  return { clientId: 'tailrace-cli', ...addresses(place, kafkaVariables) };
}

/** Looks whether the place says where the lake is. Throws ConfigError. */
export function requireLakeSettings(place: Place): void {
  addresses(place, s3Variables);
}

/** Where the lake is, for who can do without: undefined when the place does not name its bucket. Throws ConfigError. */
export function lakeSettings({ environment }: Place): S3Config | undefined {
  return (environment[s3Variables.bucket.name] ?? '') === '' ? undefined : loadConfig(s3Variables, environment);
}

/** Reads a table; without an endpoints file a fault also says that there could be one. Throws ConfigError. */
function addresses<const T extends VariableTable>({ file, environment }: Place, table: T): ConfigOf<T> {
  try {
    return loadConfig(table, environment);
  } catch (fault) {
    if (!(fault instanceof ConfigError) || file !== undefined) throw fault;
    throw new ConfigError([...fault.lines, 'Or name a file with all of it: --endpoints FILE, written by npm start -- --endpoints FILE.']);
  }
}

/** The version in this package's package.json. */
export function ownVersion(): string {
  // Beside both `src` and `dist`.
  return (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version;
}

interface EndpointsContent {
  readonly environment: Readonly<Record<string, string>>;
  /** The file or folder of the rules that hold there. */
  readonly rules: string | undefined;
}

function readEndpoints(file: string): EndpointsContent {
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
  const rules = typeof parsed === 'object' && parsed !== null && 'rules' in parsed ? parsed.rules : undefined;
  return { environment: environment as Record<string, string>, rules: typeof rules === 'string' ? rules : undefined };
}
