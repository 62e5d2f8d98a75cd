import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { scenarioConfig } from '../src/config.ts';
import { type FencedBlock, fencedBlocks } from '../src/docs/fenced-blocks.ts';
import { until } from '../src/machine/until.ts';
import { run, tailrace } from '../src/pipeline/command.ts';
import { startPipeline } from '../src/pipeline/per-test.ts';
import { ROOT } from '../src/root.ts';

const LIMIT_MS = 60_000;
/** The pages wait for an alert that begins and ends, beside all else. */
const ALL_BLOCKS_MS = 15 * 60_000;
/** These are what everything else here stands on, and every check runs them. */
const RUN_ELSEWHERE = ['npm start', 'npm test'];

/** Where a gateway listens that is told nothing else; this run's has a free port. */
const DEFAULT_GATEWAY = 'http://127.0.0.1:8080';

/** An alert's end waits for this: a page that is run need not wait for as long as one that is read. */
const SOONER = { ALERT_LATENESS_MS: '10000' };

/** Waits for an alert to begin and to end: minutes. */
const LONG_PAGE = 'docs/alerts.md';
const PAGES = ['README.md', 'CONTRIBUTING.md', ...markdown('docs'), ...markdown('docs/reference'), ...markdown('docs/decisions')];
const blocks = PAGES.filter((page) => !(scenarioConfig.short && page === LONG_PAGE)).flatMap((page) =>
  fencedBlocks(readFileSync(join(ROOT, page), 'utf8')).map((block) => ({ page, ...block })),
);
/** Rules, cases and notifiers: the unit tests of the alert processor read each of these blocks. */
const READ_ELSEWHERE = 'yaml';
const runnable = blocks.filter(({ language, text }) => language !== READ_ELSEWHERE && !RUN_ELSEWHERE.includes(text));

/** A folder as the pages mean it: that of the clone, with the endpoints file of this run. */
const folder = mkdtempSync(join(tmpdir(), 'tailrace-e2e-pages-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** How a block of each language is run: the words behind `sh`. */
const RUNNERS: Readonly<Record<string, (block: FencedBlock) => readonly string[]>> = {
  sh: ({ text }) => ['-euc', text],
  sql: ({ text }) => ['-c', 'npx tailrace --endpoints tailrace.json lake query "$0"', text],
};

test('every block of the pages that names a language is one that is run here', () => {
  expect(runnable.filter(({ language }) => RUNNERS[language] === undefined).map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  expect(runnable.length).toBeGreaterThanOrEqual(4);
});

test(
  'the commands of the pages work as written on a running pipeline, and print what the pages say',
  async () => {
    const pipeline = startPipeline({ environment: SOONER });
    const endpoints = await pipeline.ready();
    for (const name of ['node_modules', 'apps', 'examples', 'package.json']) symlinkSync(join(ROOT, name), join(folder, name));
    // No copy: the file is written anew where something has changed since, as a service that had not said yet where its metrics are.
    symlinkSync(pipeline.endpointsFile, join(folder, 'tailrace.json'));
    await fetch(`${endpoints.gateway}/v1/events`, {
      method: 'POST',
      body: JSON.stringify({ timestamp: new Date().toISOString(), service: 'pages' }),
    });
    // The files that pages tell of.
    const event = JSON.stringify({ timestamp: new Date().toISOString(), service: 'pages' });
    writeFileSync(join(folder, 'events.ndjson'), `${event}\n`);
    writeFileSync(join(folder, 'events.json'), `[${event}]`);
    const allArchived = (when: string) => until(`everything archived ${when}`, LIMIT_MS, () => archived(pipeline.endpointsFile));
    for (const written of runnable) {
      const block = { ...written, text: written.text.replaceAll(DEFAULT_GATEWAY, endpoints.gateway) };
      const name = `${block.page}:${block.line}`;
      // What the blocks before posted must have arrived where the lake is looked at; all others are quick to run without it.
      if (looksAtLake(block)) await allArchived(`before ${name}`);
      const told = await run('sh', RUNNERS[block.language]?.(block) ?? [], { cwd: folder, limitMs: LIMIT_MS + waitsMs(block) });
      expect(told.code, `${name}\n${told.stderr}`).toBe(0);
      if (block.output !== undefined) expect(told.stdout.trim(), name).toBe(block.output);
    }
    await allArchived('at the end');
  },
  ALL_BLOCKS_MS,
);

/** What a block gives itself by `timeout SECONDS` comes on top of the limit. */
const waitsMs = ({ text }: FencedBlock): number =>
  [...text.matchAll(/\btimeout(?: --\S+)* (\d+)/g)].reduce((sum, [, seconds]) => sum + Number(seconds) * 1000, 0);

const looksAtLake = ({ language, text }: FencedBlock): boolean => language === 'sql' || /\blake\b/.test(text);

async function archived(endpointsFile: string): Promise<boolean> {
  const { stdout } = await tailrace(endpointsFile, 'group', 'lag', '--group', 'archiver', '--json');
  return JSON.parse(stdout).groups[0].lag === 0;
}

function markdown(under: string): string[] {
  return readdirSync(join(ROOT, under)).flatMap((name) => (name.endsWith('.md') ? [`${under}/${name}`] : []));
}
