import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { commandPlace } from './config.ts';

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tailrace-place-'));
  file = join(folder, 'tailrace.json');
  vi.stubEnv('ALERT_RULES', undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

it('the rules that an endpoints file names stand for ALERT_RULES, unless that is set', () => {
  writeFileSync(file, JSON.stringify({ rules: '/run/rules', environment: { KAFKA_BOOTSTRAP_SERVERS: 'k:1' } }));
  expect(commandPlace(file).environment).toMatchObject({ ALERT_RULES: '/run/rules', KAFKA_BOOTSTRAP_SERVERS: 'k:1' });
  vi.stubEnv('ALERT_RULES', '');
  expect(commandPlace(file).environment.ALERT_RULES).toBe('/run/rules');
  vi.stubEnv('ALERT_RULES', 'mine.yaml');
  expect(commandPlace(file).environment.ALERT_RULES).toBe('mine.yaml');
  expect(commandPlace(undefined).environment.ALERT_RULES).toBe('mine.yaml');
});

it('an endpoints file of before, which names no rules, says nothing of them', () => {
  writeFileSync(file, JSON.stringify({ environment: {} }));
  expect(commandPlace(file).environment.ALERT_RULES).toBeUndefined();
});
