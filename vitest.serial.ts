import { defineConfig } from 'vitest/config';
import { integrationSettings } from './vitest.base.ts';

// biome-ignore lint/style/noDefaultExport: vitest reads a configuration file's default export.
export default defineConfig(integrationSettings('serial'));
