import { basename } from 'node:path';
import type { ViteUserConfig } from 'vitest/config';

/** The settings that all tests share: sources instead of builds, and processes (the native Kafka client can not live in worker threads). */
function settings(kind: 'unit' | 'integration', results: string): ViteUserConfig & { readonly test: object } {
  return {
    resolve: { conditions: ['tailrace-src'] },
    ssr: { resolve: { conditions: ['tailrace-src'] } },
    test: {
      pool: 'forks',
      passWithNoTests: true,
      testTimeout: kind === 'unit' ? 20_000 : 90_000,
      hookTimeout: kind === 'unit' ? 20_000 : 90_000,
      reporters: ['default', 'json'],
      outputFile: { json: `${results}-${kind}.json` },
    },
  };
}

/** One package's tests, run in its folder. */
export function testSettings(kind: 'unit' | 'integration'): ViteUserConfig {
  const shared = settings(kind, `../../.results/${basename(process.cwd())}`);
  return {
    ...shared,
    test: {
      ...shared.test,
      include: kind === 'unit' ? ['src/**/*.test.ts'] : ['src/**/*.integration.test.ts'],
      exclude: kind === 'unit' ? ['**/node_modules/**', '**/*.integration.test.ts'] : ['**/node_modules/**'],
      fileParallelism: kind === 'unit',
    },
  };
}

/** Tests that work on what all of them share: the declared topics and groups, and settings of the whole OpenSearch. */
export const SERIAL = [
  'apps/indexer/src/**/*.integration.test.ts',
  'apps/cli/src/**/*.integration.test.ts',
  'apps/archiver/src/main.integration.test.ts',
  'apps/ingest-gateway/src/main.integration.test.ts',
];

/**
 * All packages' integration tests of one kind, run in the root. Most of them wait most of the time (for sessions, look-ups, restarts), so
 * those that have topics, prefixes or servers of their own run at the same time, beside the serial ones.
 */
export function integrationSettings(kind: 'serial' | 'concurrent'): ViteUserConfig {
  const shared = settings('integration', `.results/${kind}`);
  return {
    ...shared,
    test: {
      ...shared.test,
      include: kind === 'serial' ? SERIAL : ['{apps,packages}/*/src/**/*.integration.test.ts'],
      exclude: ['**/node_modules/**', ...(kind === 'serial' ? [] : SERIAL)],
      maxWorkers: kind === 'serial' ? 1 : 3,
    },
  };
}
