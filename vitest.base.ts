import { basename } from 'node:path';
import type { ViteUserConfig } from 'vitest/config';

/** The settings every package's tests share: sources instead of builds, and processes (the native Kafka client can not live in worker threads). */
export function testSettings(kind: 'unit' | 'integration'): ViteUserConfig {
  return {
    resolve: { conditions: ['tailrace-src'] },
    ssr: { resolve: { conditions: ['tailrace-src'] } },
    test: {
      pool: 'forks',
      include: kind === 'unit' ? ['src/**/*.test.ts'] : ['src/**/*.integration.test.ts'],
      exclude: kind === 'unit' ? ['**/node_modules/**', '**/*.integration.test.ts'] : ['**/node_modules/**'],
      passWithNoTests: true,
      testTimeout: kind === 'unit' ? 20_000 : 90_000,
      hookTimeout: kind === 'unit' ? 20_000 : 90_000,
      fileParallelism: kind === 'unit',
      reporters: ['default', 'json'],
      outputFile: { json: `../../.results/${basename(process.cwd())}-${kind}.json` },
    },
  };
}
