import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateEvents } from '@tailrace/events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scenarioConfig } from '../src/config.ts';
import { startPipeline } from '../src/pipeline/per-test.ts';
import { SERVERS } from '../src/pipeline/pipeline.ts';
import { report, seconds } from '../src/report.ts';

const EVENTS = 500;
const RUN_MS = 400_000;
const JVM_FOLDER = '/usr/lib/jvm';

interface Version {
  readonly home: string;
  readonly java: number;
  readonly openSearch: 2 | 3;
}

/** The JDKs of this machine, each once, by the number in their `release` files. */
function jdks(): { readonly home: string; readonly java: number }[] {
  if (!existsSync(JVM_FOLDER)) return [];
  const homes = new Set(readdirSync(JVM_FOLDER).map((name) => realpathSync(join(JVM_FOLDER, name))));
  return [...homes].flatMap((home) => {
    if (!existsSync(join(home, 'bin/javac')) || !existsSync(join(home, 'release'))) return [];
    const java = Number(/^JAVA_VERSION="(\d+)/m.exec(readFileSync(join(home, 'release'), 'utf8'))?.[1]);
    return java >= 17 ? [{ home, java }] : [];
  });
}

/** OpenSearch 3 needs Java 21. */
const VERSIONS: readonly Version[] = jdks().flatMap(({ home, java }) => [
  { home, java, openSearch: 2 as const },
  ...(java >= 21 ? [{ home, java, openSearch: 3 as const }] : []),
]);
if (new Set(VERSIONS.map(({ java }) => java)).size < 2)
  report(`versions: this machine has ${VERSIONS.length === 0 ? 'no JDK' : 'one Java'} in ${JVM_FOLDER}`);

describe.skipIf(scenarioConfig.short)('the servers in every version that this machine can run', () => {
  let folder = '';
  let inputFile = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tailrace-e2e-input-'));
    inputFile = join(folder, 'events.ndjson');
    const events = generateEvents({ seed: scenarioConfig.seed, nowMs: Date.now });
    writeFileSync(inputFile, Array.from({ length: EVENTS }, () => `${JSON.stringify(events.next().value)}\n`).join(''));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.for(VERSIONS)('OpenSearch $openSearch on Java $java', { timeout: RUN_MS }, async ({ home, java, openSearch }) => {
    const begunMs = Date.now();
    const pipeline = startPipeline({
      args: ['--once', '--input', inputFile],
      environment: { TAILRACE_JAVA: home, TAILRACE_OPENSEARCH: String(openSearch) },
    });
    const { opensearchUrl } = await pipeline.ready();
    // Asked while it runs: what is written about itself could be wrong, what answers can not.
    const { version } = (await (await fetch(opensearchUrl)).json()) as { version: { number: string } };
    const running = SERVERS.map((name) => pipeline.find(name)?.command[0]);
    const { code } = await pipeline.command.ends(RUN_MS);

    expect(version.number).toMatch(new RegExp(`^${openSearch}\\.`));
    expect(running).toEqual(running.map(() => join(home, 'bin/java')));
    expect(JSON.parse(pipeline.command.stdout.trim().split('\n').at(-1) ?? '')).toEqual({
      posted: EVENTS,
      accepted: EVENTS,
      rejected: 0,
      indexed: EVENTS,
      archived: EVENTS,
      alerts: 0,
    });
    expect(code).toBe(0);
    report(`OpenSearch ${version.number} on Java ${java}: --once with ${EVENTS} events took ${seconds(Date.now() - begunMs)}`);
  });
});
