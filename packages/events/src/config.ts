import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Set by who wants the generated pages written instead of compared. */
export const updateDocs = process.env.UPDATE_DOCS === '1';

/** The class path of Kafka's own client where a local stack has fetched it, for the tests that hold our keys against it. */
export function cachedKafkaClassPath(): string | undefined {
  const jars = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tailrace', 'jars');
  const kafka = existsSync(jars) ? readdirSync(jars).find((name) => name.startsWith('kafka-')) : undefined;
  return kafka === undefined ? undefined : join(jars, kafka, '*');
}
