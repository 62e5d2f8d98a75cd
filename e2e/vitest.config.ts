import { defineConfig } from 'vitest/config';

const MINUTE_MS = 60_000;

// biome-ignore lint/style/noDefaultExport: vitest reads a configuration file's default export.
export default defineConfig({
  resolve: { conditions: ['tailrace-src'] },
  ssr: { resolve: { conditions: ['tailrace-src'] } },
  test: {
    // Processes: the native Kafka client can not live in worker threads. One file at a time: each runs a whole pipeline of its own.
    pool: 'forks',
    fileParallelism: false,
    include: ['src/**/*.test.ts', 'scenarios/*.test.ts'],
    testTimeout: 10 * MINUTE_MS,
    hookTimeout: 5 * MINUTE_MS,
    teardownTimeout: MINUTE_MS,
    // What is measured is shown as it is, when it is.
    disableConsoleIntercept: true,
    reporters: ['default', 'json'],
    outputFile: { json: '../.results/e2e.json' },
  },
});
