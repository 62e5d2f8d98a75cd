import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AlertPlace, alertDefaults, isToldHere } from './alert-settings.ts';

const SHIPPED = readFileSync(new URL('../../../examples/rules/default.yaml', import.meta.url), 'utf8');

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tailrace-alerts-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function place(more: Partial<AlertPlace> = {}): AlertPlace {
  const alerts = { url: 'http://127.0.0.1:1/alerts' };
  return { folder, environment: {}, gatewayUrl: 'http://g', alerts, options: { once: false, servers: 'own' }, ...more };
}

it('the rules are those that are shipped, in a folder of this start, and nothing else is in it', () => {
  expect(alertDefaults(place()).ALERT_RULES).toBe(join(folder, 'rules'));
  expect(readdirSync(join(folder, 'rules'))).toEqual(['default.yaml']);
  expect(readFileSync(join(folder, 'rules/default.yaml'), 'utf8')).toBe(SHIPPED);
});

it('what people have changed there stays at the next start', () => {
  alertDefaults(place());
  rmSync(join(folder, 'rules/default.yaml'));
  writeFileSync(join(folder, 'rules/own.yml'), 'rules: []\n');
  alertDefaults(place());
  expect(readdirSync(join(folder, 'rules'))).toEqual(['own.yml']);
});

it('a folder that a killed start left without rules is filled', () => {
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'rules/.default.yaml.partial'), 'ru');
  alertDefaults(place());
  expect(readFileSync(join(folder, 'rules/default.yaml'), 'utf8')).toBe(SHIPPED);
});

it('rules that the environment names are taken, and no others are made', () => {
  expect(alertDefaults(place({ environment: { ALERT_RULES: 'my-rules.yaml' } })).ALERT_RULES).toBe(resolve('my-rules.yaml'));
  expect(readdirSync(folder)).toEqual(['alert-notifiers.yaml']);
});

it('who is told is whom the environment names, or this process; a variable that is empty is not set', () => {
  const own = { ALERT_NOTIFIERS: 'mine.yaml', ALERT_CANARY_URL: 'http://other' };
  const given = alertDefaults(place({ environment: own }));
  expect([given.ALERT_NOTIFIERS, given.ALERT_CANARY_URL]).toEqual([undefined, undefined]);
  const empty = { ALERT_RULES: '', ALERT_NOTIFIERS: '', ALERT_CANARY_URL: '' };
  expect(alertDefaults(place({ environment: empty }))).toEqual(alertDefaults(place()));
  expect([own, empty, {}].map(isToldHere)).toEqual([false, true, true]);
});
