import { Random } from '@tailrace/kafka-kit/testing';
import { describe, expect, it } from 'vitest';
import type { Notification } from '../notify/notification.ts';
import type { Rule } from '../rules/rule.ts';
import { incidentsOf } from '../testing/incident-oracle.ts';
import { OwnerWorld, type WrongOwner } from '../testing/owner-world.ts';
import { plainRule, ruleSet } from '../testing/plain-rules.ts';
import { StreamWorld } from '../testing/stream-world.ts';
import { incidentKey } from './subject.ts';
import { firesEarly } from './windows.ts';

const RUNS = 120;
const MUTANT_RUNS = 15;
const STEPS = 250;

const COUNT = plainRule().measure;

const RULES: readonly Rule[] = [
  plainRule({ name: 'many' }),
  plainRule({ name: 'many-for', forMs: 20_000, condition: { operator: '>=', threshold: 5 } }),
  plainRule({ name: 'tumbling', window: { kind: 'tumbling', ms: 30_000 }, condition: { operator: '>', threshold: 3 } }),
  plainRule({ name: 'few', window: { kind: 'sliding', ms: 40_000 }, condition: { operator: '<', threshold: 2 } }),
  plainRule({
    name: 'few-for',
    window: { kind: 'tumbling', ms: 20_000 },
    condition: { operator: '<=', threshold: 1 },
    forMs: 40_000,
    minCount: 0,
  }),
  plainRule({ name: 'gone', window: { kind: 'sliding', ms: 30_000 }, measure: { ...COUNT, kind: 'absence' }, rememberMs: 120_000 }),
];

/** More than any reach, so that every incident is decided. */
const QUIET_MS = 700_000;

function keysOf(told: ReadonlyMap<string, readonly Notification[]>, rule: Rule, name: string): string[] {
  return [...told.keys()].filter((key) => key.startsWith(`${rule.name}/`) && key.endsWith(`/${name}`));
}

/** What is wrong between what was told and what the recount of all logs says. */
function faultsOf(rule: Rule, world: StreamWorld, told: ReadonlyMap<string, readonly Notification[]>): string[] {
  const faults: string[] = [];
  const watermarkMs = world.nowMs - world.rules.latenessMs;
  const unexplained = new Set(keysOf(told, rule, 'firing'));
  const unended = new Set(keysOf(told, rule, 'resolved'));
  const incidents = incidentsOf(rule, world.logs, watermarkMs);
  for (const { group, firstMs, lastMs, ended } of incidents) {
    const of = incidentKey(rule.name, group, 0).slice(0, -1);
    const own = [...unexplained].filter((key) => {
      const episodeMs = Number(key.split('/')[2]);
      return key.startsWith(of) && episodeMs >= firstMs && episodeMs <= lastMs;
    });
    const what = `${rule.name} ${group} [${firstMs}, ${lastMs}]`;
    if (own.length !== 1) faults.push(`${what}: told ${own.length} times: ${own}`);
    // What is decided on complete windows only is told from its very first one on.
    if (!firesEarly(rule) && own[0] !== undefined && own[0] !== `${of}${firstMs}/firing`) faults.push(`${what}: told as ${own[0]}`);
    for (const key of own) {
      unexplained.delete(key);
      const end = key.replace(/firing$/, 'resolved');
      if (unended.delete(end) !== ended) faults.push(`${what}: resolved ${ended ? 'was not told' : 'is false'}`);
    }
  }
  for (const key of unexplained) faults.push(`false: ${key}`);
  for (const key of unended) faults.push(`false: ${key}`);
  for (const [key, all] of told) {
    if (new Set(all.map((each) => JSON.stringify(each))).size !== 1) faults.push(`${key} was told with different words`);
  }
  return faults;
}

interface Run {
  readonly faults: readonly string[];
  readonly told: number;
  readonly kills: number;
  readonly states: string;
}

function run(seed: number, killing: number, wrong: WrongOwner = {}): Run {
  const random = new Random(seed);
  const world = new StreamWorld(ruleSet(RULES), random, random.whole(1, 3));
  const owner = new OwnerWorld(world, random, killing, wrong);
  for (let step = 0; step < STEPS; step++) {
    world.step();
    owner.step();
  }
  world.settle(QUIET_MS);
  owner.settle();
  const faults = RULES.flatMap((rule) => faultsOf(rule, world, owner.told));
  return { faults, told: owner.told.size, kills: owner.kills, states: JSON.stringify(owner.states) };
}

describe('each incident is told once, none is missed and none is false', () => {
  it(`over ${RUNS} random logs, orders of messages, repeats, zombies and kills at every step`, { timeout: 120_000 }, () => {
    let told = 0;
    let kills = 0;
    for (let seed = 1; seed <= RUNS; seed++) {
      const result = run(seed, 0.02);
      expect(result.faults, `seed ${seed}`).toEqual([]);
      told += result.told;
      kills += result.kills;
    }
    console.log(`${RUNS} runs: ${told} notifications, ${kills} kills`);
    expect(told).toBeGreaterThan(RUNS * 5);
    expect(kills).toBeGreaterThan(RUNS);
  });

  it('the same messages and ticks make the same states', () => {
    for (let seed = 1; seed <= 20; seed++) expect(run(seed, 0.02).states).toBe(run(seed, 0.02).states);
  });
});

const WINDOWS_MS = [20_000, 40_000, 60_000, 130_000];

/** Rules are taken out and put back, and their windows edited, while everything else goes on. What is then told too often, or with an open end. */
function runEdited(seed: number): { readonly faults: readonly string[]; readonly edits: number; readonly ended: number } {
  const random = new Random(seed);
  const world = new StreamWorld(ruleSet(RULES), random, random.whole(1, 3));
  const owner = new OwnerWorld(world, random, 0.02);
  let edits = 0;
  const edit = (rules: readonly Rule[]): void => {
    edits++;
    world.setRules(ruleSet(rules));
    owner.reload();
  };
  for (let step = 0; step < STEPS; step++) {
    if (random.chance(0.1)) {
      const kept = RULES.filter(() => random.chance(0.7));
      edit(kept.map((rule) => ({ ...rule, window: { ...rule.window, ms: random.pick(WINDOWS_MS) } })));
    }
    world.step();
    owner.step();
  }
  edit(RULES.slice(0, 3));
  for (let rounds = 0; rounds < 2; rounds++) {
    world.settle(QUIET_MS);
    owner.settle();
  }
  const faults: string[] = [];
  let ended = 0;
  for (const [key, all] of owner.told) {
    if (new Set(all.map((each) => JSON.stringify(each))).size !== 1) faults.push(`${key} was told with different words`);
    const [first] = all;
    if (first?.status !== 'firing') continue;
    if (owner.told.has(`${first.incident}/resolved`)) ended++;
    else if (!owner.firing.includes(first.incident)) faults.push(`${key} was never told to be over`);
  }
  for (const { rule } of [...owner.told.values()].flat()) {
    if (owner.firing.some((incident) => incident.startsWith(`${rule}/`)) && !RULES.slice(0, 3).some(({ name }) => name === rule))
      faults.push(`${rule} is gone and fires`);
  }
  return { faults, edits, ended };
}

it(`a key has one meaning and every firing its end, over ${RUNS} random logs with rules that go, come back and change their windows`, {
  timeout: 120_000,
}, () => {
  let edits = 0;
  let ended = 0;
  for (let seed = 1; seed <= RUNS; seed++) {
    const result = runEdited(seed);
    expect(result.faults, `seed ${seed}`).toEqual([]);
    edits += result.edits;
    ended += result.ended;
  }
  console.log(`${RUNS} runs: ${edits} edits, ${ended} incidents that ended`);
  expect(edits).toBeGreaterThan(RUNS * 5);
  expect(ended).toBeGreaterThan(RUNS);
});

describe('each rule of the owner is needed', () => {
  const MUTANTS: readonly (readonly [what: string, wrong: WrongOwner])[] = [
    ['an owner that does not go back behind its commit', { rewinds: false }],
    ['an owner that reads no states', { restores: false }],
    ['an owner that sends before the state is written', { writesPending: false }],
  ];
  it.each(MUTANTS)('%s is found out', (_, wrong) => {
    let found = 0;
    for (let seed = 1; seed <= MUTANT_RUNS; seed++) if (run(seed, 0.05, wrong).faults.length > 0) found++;
    expect(found).toBeGreaterThan(0);
  });
});
