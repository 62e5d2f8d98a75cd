import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../src/cluster/cluster.ts';
import type { Member } from '../src/cluster/member.ts';
import { scenarioConfig } from '../src/config.ts';
import { until } from '../src/machine/until.ts';
import { kafkaSettings, TOPIC } from '../src/pipeline/endpoints.ts';
import { readDocuments } from '../src/proof/index-documents.ts';
import { Feed } from '../src/torture/feed.ts';

const RECORDS = 3000;
const WAIT_MS = 120_000;
const CHANNEL_GROUP = 'indexer.replay';
/** Dead by the parser's bug, which is mended later; and dead for good. */
const BUGGED = 10;
const BAD = 50;

/** A parser that takes no event whose number is a multiple of one of these for one. */
const parserFor = (every: number): string => `export function parse({ value }) {
  const { attributes } = JSON.parse(value.toString());
  return attributes.n % ${every} === 0 ? { kind: 'dead', reason: 'no-event', detail: String(attributes.n) } : { kind: 'event', value };
}
`;

let cluster: Cluster;
let feed: Feed;
let indexer: Member;

beforeAll(async () => {
  cluster = await Cluster.start({ brokers: 1, jit: 'fast-start' });
  for (const every of [BUGGED, BAD]) writeFileSync(parserFile(every), parserFor(every));
  await startIndexer(BUGGED);
  feed = await Feed.start(kafkaSettings(cluster.endpoints), scenarioConfig.seed);
  feed.allow(RECORDS);
  await until(`${RECORDS} records written and read`, WAIT_MS, async () => feed.acknowledged === RECORDS && (await isApplied('indexer')));
});
afterAll(async () => {
  await feed?.stop();
  await cluster?.stop();
});

function parserFile(every: number): string {
  return join(cluster.stack.folder, `parser-${every}.mjs`);
}

/** Many services' events are dead at once: a person has said that they are bad indeed. */
async function startIndexer(every: number): Promise<void> {
  indexer = cluster.join('indexer', { INDEXER_PARSER: parserFile(every), INDEX_DEAD_LETTER_HALT: '0' });
  await cluster.settled('indexer');
}

async function json<T>(code: number, ...args: string[]): Promise<T> {
  const { code: ended, stdout, stderr } = await cluster.tailrace(...args, '--json');
  expect(ended, stderr).toBe(code);
  return JSON.parse(stdout) as T;
}

/** Whether nothing waits before a group, by `group lag`. */
async function isApplied(group: string): Promise<boolean> {
  const { stdout } = await cluster.tailrace('group', 'lag', '--group', group, '--json');
  const { groups } = JSON.parse(stdout) as { groups: { lag: number; committed: boolean }[] };
  return groups.every(({ lag, committed }) => committed && lag === 0);
}

interface Sent {
  readonly records: number;
  readonly sent: number;
  readonly refusedRounds: number;
}

/** Brings all dead letters back, and waits until each was tried. */
async function bringBack(code: number): Promise<Sent> {
  const sent = await json<Sent>(code, 'dlq', 'replay', '--group', 'indexer', '--yes');
  await until('all of them tried', WAIT_MS, () => isApplied(CHANNEL_GROUP));
  return sent;
}

const numbers = async () => (await readDocuments(cluster.endpoints.opensearchUrl, TOPIC)).map(({ number }) => number).sort((a, b) => a - b);
const without = (every: number) => Array.from({ length: RECORDS }, (_, i) => i + 1).filter((number) => number % every !== 0);

test('dead letters die again under the bug, are indexed once it is mended, and what stays bad is refused the sixth time', async () => {
  const dead = RECORDS / BUGGED;
  expect(await numbers()).toEqual(without(BUGGED));
  const commits = async () => (await cluster.admin.groupLag('indexer', [TOPIC])).map(({ committed }) => committed);
  const before = await commits();
  expect(await bringBack(0)).toMatchObject({ records: dead, sent: dead });
  // By the same bug: each has a second letter now, which alone counts.
  expect(await json(1, 'dlq', 'ls')).toMatchObject({ topics: [{ deadLetters: 2 * dead, again: dead }] });

  expect(await indexer.leave()).toBe(0);
  await startIndexer(BAD);
  const mended = new Date().toISOString();
  expect(await bringBack(0)).toMatchObject({ records: dead, sent: dead });
  expect(await numbers()).toEqual(without(BAD));
  const bad = RECORDS / BAD;
  expect(await json(1, 'dlq', 'ls', '--from', mended)).toMatchObject({ topics: [{ deadLetters: bad, again: bad }] });

  // What is well by now is written once more, as it is; what is bad goes its five rounds.
  for (let round = 3; round <= 5; round++) expect(await bringBack(0)).toMatchObject({ sent: dead, refusedRounds: 0 });
  expect(await bringBack(1)).toMatchObject({ sent: dead - bad, refusedRounds: bad });
  expect(await numbers()).toEqual(without(BAD));
  expect(await commits()).toEqual(before);
});
