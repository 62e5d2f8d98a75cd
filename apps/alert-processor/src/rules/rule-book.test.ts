import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@tailrace/kafka-kit/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LOOK_EVERY_MS, RuleBook, type RuleBookOptions } from './rule-book.ts';

const rule = (name: string, threshold = 5): string => `rules:
  - name: ${name}
    summary: many events
    measure: count
    window: 1m
    condition: "> ${threshold}"
    response: {do: look, do_not: wait}
`;

let folder: string;
let path: string;
let clock: ManualClock;
let book: RuleBook | undefined;
const log = { info: vi.fn(), error: vi.fn() };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rule-book-'));
  path = join(folder, 'rules.yaml');
  clock = new ManualClock();
  log.info.mockClear();
  log.error.mockClear();
});

afterEach(async () => {
  await book?.close();
  book = undefined;
  rmSync(folder, { recursive: true });
});

async function opened(options: Partial<RuleBookOptions> = {}): Promise<RuleBook> {
  book = await RuleBook.open({ path, paneMs: 10_000, latenessMs: 60_000, clock, log, ...options });
  return book;
}

const names = (from: RuleBook) => from.current.rules.map(({ name }) => name);

it('takes a changed file over when it was the same at two looks', async () => {
  writeFileSync(path, rule('a'));
  const rules = await opened();
  const heard: string[][] = [];
  rules.onChange((set) => heard.push(set.rules.map(({ name }) => name)));
  writeFileSync(path, rule('b'));
  await rules.look();
  expect(names(rules)).toEqual(['a']);
  await rules.look();
  expect(names(rules)).toEqual(['b']);
  await rules.look();
  expect(heard).toEqual([['b']]);
});

it('refuses a rule that tells somebody who is not there, with file, line and column', async () => {
  const telling = (whom: string) => `${rule('a')}    notify: [${whom}]\n`;
  writeFileSync(path, telling('oncal'));
  await expect(opened({ notifiers: ['oncall'] })).rejects.toMatchObject({
    lines: [`${path}:8:14: There is no notifier oncal (did you mean oncall?): there is oncall.`],
  });
  writeFileSync(path, telling('oncall'));
  const rules = await opened({ notifiers: ['oncall'] });
  writeFileSync(path, telling('gone'));
  await rules.look({ atOnce: true });
  expect(rules.health()).toMatchObject({ state: 'degraded', sentence: expect.stringContaining(`${path}:8:14: There is no notifier gone`) });
});

it('says from when on a change is counted: with the next pane', async () => {
  writeFileSync(path, rule('a'));
  const rules = await opened();
  expect(rules.health().sentence).toMatch(/^1 rules hold since [^;]+Z\.$/);
  writeFileSync(path, rule('b'));
  await clock.advance(3000);
  await rules.look({ atOnce: true });
  const sinceMs = clock.nowMs();
  const [since, from] = [sinceMs, (Math.floor(sinceMs / 10_000) + 1) * 10_000].map((ms) => new Date(ms).toISOString());
  expect(rules.health().sentence).toBe(`1 rules hold since ${since}; what is new in them counts from ${from} on.`);
  expect(log.info.mock.lastCall?.[1]).toBe(`1 rules hold from now on; what is new in them counts from ${from} on`);
});

it('looks by itself, by its clock', async () => {
  writeFileSync(path, rule('a'));
  const rules = await opened();
  writeFileSync(path, rule('b'));
  // Reading the disk takes time of its own, that the clock knows nothing of.
  await vi.waitFor(async () => {
    await clock.advance(LOOK_EVERY_MS);
    expect(names(rules)).toEqual(['b']);
  });
});

it('a SIGHUP takes a change over at once', async () => {
  writeFileSync(path, rule('a'));
  const rules = await opened();
  writeFileSync(path, rule('b'));
  process.emit('SIGHUP');
  await vi.waitFor(() => expect(names(rules)).toEqual(['b']));
});

it('a file that is being written is not taken for one with fewer rules', async () => {
  writeFileSync(path, `${rule('a')}${rule('b').slice(rule('b').indexOf('  -'))}`);
  const rules = await opened();
  expect(names(rules)).toEqual(['a', 'b']);
  writeFileSync(path, rule('a'));
  await rules.look();
  writeFileSync(path, `${rule('a')}${rule('c').slice(rule('c').indexOf('  -'))}`);
  await rules.look();
  expect(names(rules)).toEqual(['a', 'b']);
  await rules.look();
  expect(names(rules)).toEqual(['a', 'c']);
});

it('a bad file leaves the rules as they were, is logged once, and makes the process degraded until it is mended', async () => {
  writeFileSync(path, rule('a'));
  const rules = await opened();
  writeFileSync(path, rule('Bad Name'));
  for (let i = 0; i < 4; i++) await rules.look();
  expect(names(rules)).toEqual(['a']);
  expect(rules.refused).toBe(true);
  expect(log.error).toHaveBeenCalledTimes(1);
  expect(rules.health()).toEqual({
    state: 'degraded',
    sentence: expect.stringContaining(`${path}:2:11: This must be a name of at most 64`),
  });
  writeFileSync(path, rule('a'));
  for (let i = 0; i < 2; i++) await rules.look();
  expect(rules.refused).toBe(false);
  expect(rules.health().state).toBe('ok');
});

it('a file that is gone is bad, and not a file without rules', async () => {
  writeFileSync(path, rule('a'));
  const rules = await opened();
  renameSync(path, `${path}.away`);
  for (let i = 0; i < 3; i++) await rules.look();
  expect(names(rules)).toEqual(['a']);
  expect(rules.health().sentence).toContain('no such file or folder');
  expect(log.error).toHaveBeenCalledTimes(1);
});

it('reads the *.yaml files of a folder together, in the order of their names', async () => {
  writeFileSync(join(folder, 'b.yml'), rule('b'));
  writeFileSync(join(folder, 'a.yaml'), rule('a'));
  writeFileSync(join(folder, '.hidden.yaml'), 'nonsense: [');
  writeFileSync(join(folder, 'notes.txt'), 'nonsense: [');
  const rules = await opened({ path: folder });
  expect(names(rules)).toEqual(['a', 'b']);
  writeFileSync(join(folder, 'c.yaml'), rule('a'));
  await rules.look({ atOnce: true });
  expect(rules.health().sentence).toContain(`${join(folder, 'c.yaml')}:2:11: There is another rule named a`);
});

it('is not opened without rules that make sense: every problem is told', async () => {
  await expect(opened()).rejects.toThrow('no such file or folder');
  await expect(opened({ path: folder })).rejects.toThrow('holds no *.yaml file');
  writeFileSync(path, `${rule('A')}unknown: 1\n`);
  await expect(opened()).rejects.toMatchObject({
    name: 'ConfigError',
    lines: [expect.stringContaining(':2:11:'), expect.stringContaining(':8:1:')],
  });
  writeFileSync(path, Buffer.from([0xff, 0xfe, 0x00]));
  await expect(opened()).rejects.toThrow('is not text in UTF-8');
});

it('refuses what the given check refuses', async () => {
  writeFileSync(path, rule('a'));
  const check = vi.fn(() => ['Rule a looks back too far.']);
  await expect(opened({ check })).rejects.toThrow('Rule a looks back too far.');
});
