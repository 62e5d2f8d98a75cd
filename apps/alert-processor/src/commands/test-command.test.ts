import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ports } from './ports.ts';
import { testCommand } from './test-command.ts';

const RULES = `rules:
- {name: errors, summary: s, where: status_code >= 500, measure: count, window: 1m, condition: "> 2", response: {do: a, do_not: b}}
`;
const CASE = `
- name: three errors page
  events: [{at: 5s, times: 3, event: {service: shop, status_code: 500}}]
  expect: [{rule: errors, fires_at: 7s}]
`;
const WRONG = `
- name: three errors do not page
  events: [{at: 5s, times: 3, event: {service: shop, status_code: 500}}]
  expect: []
`;

describe('tailrace rules test', () => {
  let folder: string;
  let out: string;
  let note: string;
  const ports: Ports = {
    out: (text: string) => {
      out += text;
    },
    note: (text: string) => {
      note += text;
    },
    nowMs: Date.now,
    environment: {},
    signal: new AbortController().signal,
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rules-test-'));
    out = '';
    note = '';
  });

  afterEach(() => rm(folder, { recursive: true }));

  async function file(name: string, text: string): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  }

  it('runs the cases of a rules file', async () => {
    const path = await file('alerts.yaml', `${RULES}cases:${CASE}`);
    expect(await testCommand([path], {}, ports)).toBe(0);
    expect(out).toBe(`ok      three errors page (${path}:4)\n1 case, none failed.\n`);
  });

  it('runs cases beside the rules, and says what differs', async () => {
    await file('alerts.yaml', RULES);
    const path = await file('alerts.test.yaml', `cases:${WRONG}  rules: alerts.yaml${CASE}  rules: alerts.yaml`);
    expect(await testCommand([path], {}, ports)).toBe(1);
    expect(out).toBe(
      [
        `failed  three errors do not page (${path}:2)`,
        '        errors fired at 7s: not expected. count 3 > 2 in 1 min.',
        `ok      three errors page (${path}:6)`,
        '2 cases, 1 failed.\n',
      ].join('\n'),
    );
    expect(note).toBe('');
  });

  it('prints JSON', async () => {
    const path = await file('alerts.yaml', `${RULES}cases:${CASE}${WRONG}`);
    expect(await testCommand([path], { json: true }, ports)).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      failed: 1,
      cases: [
        {
          name: 'three errors page',
          line: 4,
          ok: true,
          differences: [],
          alerts: [{ rule: 'errors', group: [], firedAt: '2026-01-01T00:00:07.000Z', value: 3, silenced: false, severity: 'warning' }],
        },
        { ok: false, differences: [expect.stringContaining('not expected')] },
      ],
    });
  });

  it.each([
    ['a file that is not there', 'gone.yaml', '', /gone\.yaml can not be read, no such file or folder: name a file of test cases\.\n$/],
    [
      'a rules file that is not there',
      'a.yaml',
      `cases:${CASE}  rules: gone.yaml`,
      /a\.yaml:5:10: The rules file \S+gone\.yaml can not be read: no such file or folder/,
    ],
    ['a folder', '.', '', /can not be read, it is a folder: name/],
    [
      'a rules file that is something else, without a word of it',
      'a.yaml',
      `cases:${CASE}  rules: ../../../../../../../../etc/passwd`,
      /^\S+a\.yaml:5:10: \S+etc\/passwd is no YAML with rules: name a rules file, or see what rules check says of it\.\n$/,
    ],
    ['cases without rules', 'a.yaml', `cases:${CASE}`, /a\.yaml:2:3: This file has no rules: name a rules file/],
    ['a bad rule in the same file', 'a.yaml', `rules: [{name: X}]\ncases:${CASE}`, /a\.yaml:1:\d+: This must be a name/],
  ])('tells %s in one sentence, with exit code 2', async (_, name, text, problem) => {
    const path = text === '' ? join(folder, name) : await file(name, text);
    expect(await testCommand([path], {}, ports)).toBe(2);
    expect(note).toMatch(problem);
    expect(out).toBe('');
  });
});
