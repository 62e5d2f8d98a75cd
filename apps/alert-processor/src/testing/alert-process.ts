import { fileURLToPath } from 'node:url';
import { runFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment, environmentOf } from '@tailrace/stack';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

/** The alert processor as a process of its own, run from its sources. */
export function runAlerts(environment: Readonly<Record<string, string>>) {
  const own = { TAILRACE_TOPIC_PROFILE: 'local', ...environment };
  return runFromSources('alert processor', main, { ...environmentOf(endpointsFromEnvironment()), ...own });
}
