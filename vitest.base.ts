import { basename } from 'node:path';
import type { ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { SERIAL_TESTS } from './scripts/lib/serial-tests.mjs';

/** The settings that all tests share: sources instead of builds, and processes (the native Kafka client can not live in worker threads). */
function settings(kind: 'unit' | 'integration', results: string): ViteUserConfig & { readonly test: object } {
  return {
    resolve: { conditions: ['tailrace-src'] },
    ssr: { resolve: { conditions: ['tailrace-src'] } },
    test: {
      pool: 'forks',
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
      passWithNoTests: true,
      include: kind === 'unit' ? ['src/**/*.test.ts'] : ['src/**/*.integration.test.ts'],
      exclude: kind === 'unit' ? ['**/node_modules/**', '**/*.integration.test.ts'] : ['**/node_modules/**'],
      fileParallelism: kind === 'unit',
    },
  };
}

const SERIAL = SERIAL_TESTS.map((each) => (each.endsWith('/') ? `${each}**/*.integration.test.ts` : each));

const INCLUDED = { serial: SERIAL, concurrent: ['{apps,packages}/*/src/**/*.integration.test.ts'] };

/** The kit's tests wait most of the time and the others work most of the time: taken in turns, they leave each other the processor. */
class InTurns extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const waiting = sorted.filter(({ moduleId }) => moduleId.includes('/packages/kafka-kit/'));
    const working = sorted.filter((file) => !waiting.includes(file));
    return sorted.flatMap((_, i) => [waiting[i], working[i]]).filter((file) => file !== undefined);
  }
}

/**
 * All packages' integration tests of one kind, run in the root. Most of them wait most of the time (for sessions, look-ups, restarts), so
 * those that have topics, prefixes or servers of their own run two at a time, beside the serial ones.
 */
export function integrationSettings(kind: 'serial' | 'concurrent'): ViteUserConfig {
  const shared = settings('integration', `.results/${kind}`);
  return {
    ...shared,
    test: {
      ...shared.test,
      include: INCLUDED[kind],
      exclude: ['**/node_modules/**', ...(kind === 'concurrent' ? SERIAL : [])],
      maxWorkers: kind === 'concurrent' ? 2 : 1,
      sequence: { sequencer: InTurns },
    },
  };
}
