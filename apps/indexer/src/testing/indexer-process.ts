import { fileURLToPath } from 'node:url';
import { runFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment, environmentOf } from '@tailrace/stack';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

/** The indexer as a process of its own, run from its sources. */
export function runIndexer(environment: Readonly<Record<string, string>> = {}) {
  const own = { TAILRACE_TOPIC_PROFILE: 'local', INDEX_REPLICAS: '0', ...environment };
  return runFromSources('indexer', main, { ...environmentOf(endpointsFromEnvironment()), ...own });
}
