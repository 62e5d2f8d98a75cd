import { defineConfig } from 'vitest/config';

// biome-ignore lint/style/noDefaultExport: vitest reads a configuration file's default export.
export default defineConfig({
  test: {
    include: ['scripts/**/*.test.mjs'],
    testTimeout: 20_000,
    reporters: ['default', 'json'],
    outputFile: { json: '.results/scripts-unit.json' },
  },
});
