import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { alertDefaults } from './alert-settings.ts';
import { checkAlerts } from './check-alerts.ts';
import { type Environment, ownEnvironment } from './config.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tailrace-check-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const rule = (more: string) =>
  `rules:\n  - {name: a, summary: many, measure: count, window: 1m, condition: "> 5", response: {do: look, do_not: wait}${more}}\n`;

async function check(environment: Environment, dataFolder?: string): Promise<string> {
  const whole = { ...ownEnvironment, ALERT_RULES: undefined, ALERT_NOTIFIERS: undefined, ...environment };
  return await checkAlerts({ dataFolder }, whole, new AbortController().signal).then(
    () => 'good',
    (fault: { readonly message: string; readonly exitCode?: number }) => `${fault.exitCode}: ${fault.message}`,
  );
}

it('each problem of rules and notifiers is a line of its own, and it is wrong use', async () => {
  const rules = file('rules.yaml', rule(', notify: [oncal], severty: error'));
  const notifiers = file('notifiers.yaml', 'notifiers:\n  - {name: oncall, kind: slack, url: {env: NOT_SET_ANYWHERE}}\n');
  const lines = (await check({ ALERT_RULES: rules, ALERT_NOTIFIERS: notifiers })).split('\n');
  expect(lines).toEqual([
    '2: The alert processor would refuse what it is given:',
    `${notifiers}:2:38: Set the environment variable NOT_SET_ANYWHERE: it is not set, or empty.`,
    expect.stringContaining(`${rules}:2:121: There is no notifier oncal (did you mean oncall?): there is oncall.`),
    expect.stringMatching(/rules\.yaml:2:129: There is no key "severty" in a rule \(did you mean severity\?\)/),
  ]);
});

it('what is good is taken, with the notifiers of the view where no others are named', async () => {
  const rules = file('rules.yaml', rule(', notify: [live-view]'));
  expect(await check({ ALERT_RULES: rules })).toBe('good');
  expect(await check({ ALERT_RULES: file('rules.yaml', rule(', notify: [oncall]')) })).toContain(
    'There is no notifier oncall: there is live-view.',
  );
});

it('a process that only counts tells nobody, and may have rules that tell others', async () => {
  const rules = file('rules.yaml', rule(', notify: [oncall]'));
  expect(await check({ ALERT_RULES: rules, ALERT_STAGES: 'panes' })).toBe('good');
});

it('notifiers that are named are looked at with the shipped rules', async () => {
  expect(await check({ ALERT_NOTIFIERS: file('notifiers.yaml', 'notifiers: []\n') })).toBe('good');
  expect(await check({ ALERT_NOTIFIERS: join(folder, 'gone.yaml') })).toMatch(
    /^2: .*\nALERT_NOTIFIERS names \S+gone\.yaml, which can not be read/,
  );
});

it('rules that people left in a data folder are looked at', async () => {
  expect(await check({}, folder)).toBe('good');
  mkdirSync(join(folder, 'rules'));
  file('rules/own.yaml', rule(', window: 5'));
  expect(await check({}, folder)).toContain(join(folder, 'rules/own.yaml:2:'));
});

it('the rules that it finds in a data folder are those of the start', async () => {
  const { ALERT_RULES = '' } = alertDefaults({
    folder,
    environment: {},
    gatewayUrl: undefined,
    alerts: { url: 'http://127.0.0.1:1/' },
    options: { once: true, servers: 'own' },
  });
  file('rules/default.yaml', 'rules: 5');
  expect(await check({}, folder)).toContain(join(ALERT_RULES, 'default.yaml:1:8: This must be a list'));
});
