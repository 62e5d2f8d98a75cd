import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { scenarioConfig } from '../src/config.ts';
import { documentedSettings, wrongValue } from '../src/documented-settings.ts';
import { run } from '../src/pipeline/command.ts';
import { SERVICES, type ServiceName } from '../src/pipeline/pipeline.ts';

const LIMIT_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), 'tailrace-e2e-bad-'));
const file = join(folder, 'file');
writeFileSync(file, '{"no":"endpoints"}\n');
afterAll(() => rmSync(folder, { recursive: true }));

interface Attempt {
  readonly words: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** What the sentence must name. */
  readonly says: RegExp;
}

interface Told {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Wrong use is told as such, on standard error, in words that name what is wrong. */
function expectWrongUse({ code, stdout, stderr }: Told, says: RegExp): void {
  expect(stderr).toMatch(says);
  expect(stderr, 'no stack trace').not.toMatch(/^\s+at .+:\d+/m);
  expect(stderr, 'no word of the JavaScript engine').not.toMatch(/undefined|\[object|TypeError|ERR_[A-Z]/);
  expect(stdout).toBe('');
  expect(code).toBe(2);
}

const START: readonly Attempt[] = [
  { words: ['--nonsense'], says: /unknown option '--nonsense'/ },
  { words: ['nonsense'], says: /too many arguments/ },
  { words: ['--rate', 'fast'], says: /--rate.*'fast'.*whole number/ },
  { words: ['--rate', '-1'], says: /--rate.*whole number/ },
  { words: ['--rate', '1e9'], says: /--rate.*whole number/ },
  { words: ['--rate'], says: /--rate.*argument missing/ },
  { words: ['--input', join(folder, 'missing')], says: /missing of --input can not be read: ENOENT/ },
  { words: ['--input', folder], says: /of --input can not be read: it is not a file/ },
  { words: ['--input', file, '--rate', '5'], says: /--rate is for samples and --input replaces them/ },
  { words: ['--data', file], says: /The data folder .*file is not a folder/ },
  { words: ['--data', '/proc/x'], says: /The data folder \/proc\/x can not be used/ },
  { words: ['--samples'], says: /--samples is for --servers given/ },
  { words: ['--endpoints', join(folder, 'missing/file')], says: /of --endpoints can not be written: ENOENT/ },
  { words: ['--endpoints', folder], says: /of --endpoints can not be written: it is not a file/ },
  { words: ['--servers', 'nonsense'], says: /--servers.*'nonsense' is invalid.*own, given/ },
  { words: ['--brokers', '2'], says: /--brokers.*'2' is invalid.*1, 3/ },
  { words: ['--servers', 'given', '--brokers', '3'], says: /--brokers is for own servers/ },
  { words: ['--servers', 'given', '--data', folder], says: /--data is for own servers/ },
  { words: ['--servers', 'given', '--once'], says: /--once has nothing to post/ },
  { words: ['--servers', 'given'], says: /KAFKA_BOOTSTRAP_SERVERS.*AWS_REGION.*not set/ },
  { words: ['--rate', '0'], environment: { TAILRACE_OPENSEARCH: '4' }, says: /TAILRACE_OPENSEARCH is "4": set it to 2 or 3/ },
  { words: ['--rate', '0'], environment: { TAILRACE_JAVA: folder }, says: /TAILRACE_JAVA names .* no JDK/ },
];

describe.skipIf(scenarioConfig.short)('npm start', () => {
  test.for(START)('$words $environment', async ({ words, environment = {}, says }) => {
    const told = await run(process.execPath, ['scripts/start.mjs', ...words], { environment, limitMs: LIMIT_MS });
    expectWrongUse(told, says);
  });
});

test.skipIf(scenarioConfig.short)('lines that are no events are named, the others arrive, and the exit code says it', async () => {
  const mixed = join(folder, 'mixed.ndjson');
  const good = '{"timestamp":"2026-01-31T12:00:00Z","service":"s"}';
  writeFileSync(mixed, `${good}\n\nno json\n${good}\n{"timestamp":"2026-01-31T12:00:00Z"}\n`);
  // Both outputs in one, as in a log: the counts are the last line there, too.
  const both = ['-c', 'exec "$@" 2>&1', 'sh', process.execPath, 'scripts/start.mjs', '--once', '--input', mixed];
  const { code, stdout } = await run('sh', both, { limitMs: LIMIT_MS });
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  expect(JSON.parse(last)).toEqual({ posted: 4, accepted: 2, rejected: 2, indexed: 2, archived: 2, alerts: 0 });
  expect(stdout).toMatch(/\n2 events of \S+ were rejected:\n {2}line 3: is not .+\n {2}line 5: service: .+\n/);
  expect(code).toBe(1);
});

const KAFKA = { KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1' };
const LAKE = { AWS_REGION: 'r', TAILRACE_LAKE_BUCKET: 'b' };

const COMMANDS: readonly Attempt[] = [
  { words: [], says: /Usage: npx tailrace/ },
  { words: ['nonsense'], says: /unknown command 'nonsense'/ },
  { words: ['--nonsense'], says: /unknown option '--nonsense'/ },
  { words: ['--endpoints'], says: /argument missing/ },
  { words: ['--endpoints', join(folder, 'missing'), 'topics', 'plan'], says: /missing can not be read as an endpoints file/ },
  { words: ['--endpoints', folder, 'lake', 'audit'], says: /can not be read as an endpoints file/ },
  { words: ['--endpoints', file, 'group', 'lag'], says: /file holds no "environment"/ },
  ...['topics', 'group', 'dlq', 'lake'].flatMap((noun) => [
    { words: [noun], says: new RegExp(`Usage: npx tailrace ${noun}`) },
    { words: [noun, 'nonsense'], says: /unknown command 'nonsense'\n\(commands of npx tailrace/ },
  ]),
  ...[
    ['topics', 'plan'],
    ['topics', 'apply'],
    ['group', 'lag'],
    ['dlq', 'ls'],
    ['dlq', 'show', '--at', '0/0'],
    ['lake', 'audit'],
    ['lake', 'query', 'SELECT 1'],
  ].flatMap((words) => [
    { words: [...words, '--nonsense'], environment: { ...KAFKA, ...LAKE }, says: /unknown option '--nonsense'/ },
    { words: [...words, 'nonsense'], environment: { ...KAFKA, ...LAKE }, says: /too many arguments/ },
    { words, says: /(KAFKA_BOOTSTRAP_SERVERS|AWS_REGION) is not set/ },
  ]),
  { words: ['topics', 'plan', '--profile', 'nonsense'], environment: KAFKA, says: /--profile.*nonsense.*local, cluster/ },
  { words: ['topics', 'apply', '--profile', 'nonsense'], environment: KAFKA, says: /--profile.*nonsense.*local, cluster/ },
  { words: ['group', 'lag', '--group'], environment: KAFKA, says: /--group.*argument missing/ },
  { words: ['dlq', 'ls', '--from', 'yesterday'], environment: KAFKA, says: /--from.*yesterday.*Give a time with its zone/ },
  { words: ['dlq', 'ls', '--source', 'a/b/c'], environment: KAFKA, says: /--source.*a\/b\/c.*Give a topic/ },
  { words: ['dlq', 'ls', '--group', 'archiver'], environment: KAFKA, says: /No group archiver .* has dead letters/ },
  { words: ['dlq', 'show'], environment: KAFKA, says: /Say which dead letter/ },
  { words: ['lake', 'query'], environment: LAKE, says: /missing required argument 'sql'/ },
];

describe('tailrace', () => {
  test.for(COMMANDS)('$words', async ({ words, environment = {}, says }) => {
    const told = await run(process.execPath, ['node_modules/.bin/tailrace', ...words], { environment, limitMs: LIMIT_MS });
    expectWrongUse(told, says);
  });
});

/** Enough for each service to begin: what it then waits for is not there. */
const WORKING = {
  ...KAFKA,
  ...LAKE,
  OPENSEARCH_URL: 'http://127.0.0.1:1',
  AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
  AWS_ACCESS_KEY_ID: 'a',
  AWS_SECRET_ACCESS_KEY: 's',
  ARCHIVER_DATA_DIR: join(folder, 'spool'),
  GATEWAY_PORT: '0',
  ALERT_RULES: 'examples/rules/default.yaml',
};

/** What is wrong only together. */
const TOGETHER: readonly (Attempt & { readonly service: ServiceName })[] = [
  {
    service: 'ingest-gateway',
    words: [],
    environment: { GATEWAY_MAX_EVENT_BYTES: '1048576', GATEWAY_MAX_BODY_BYTES: '4096' },
    says: /GATEWAY_MAX_EVENT_BYTES must not be larger/,
  },
  {
    service: 'ingest-gateway',
    words: [],
    environment: { GATEWAY_MAX_BODY_BYTES: '67108864' },
    says: /GATEWAY_MAX_IN_FLIGHT_BYTES must be at least twice/,
  },
];

describe('a service', () => {
  const tried = SERVICES.flatMap((service) =>
    documentedSettings(service).flatMap((setting) => {
      const value = wrongValue(setting);
      return value === undefined ? [] : [{ service, value, ...setting }];
    }),
  );

  test.skipIf(scenarioConfig.short).for(tried)('$service refuses $name=$value', async ({ service, name, value, neededBy }) => {
    const environment = { ...WORKING, ...(neededBy === undefined ? {} : { [neededBy[0]]: neededBy[1] }), [name]: value };
    const told = await run(process.execPath, [`apps/${service}/dist/main.js`], { environment, limitMs: LIMIT_MS });
    expectWrongUse(told, new RegExp(`^${name} is not ${value === '' ? 'set' : 'valid'}`, 'm'));
  });

  test.for(TOGETHER)('$service refuses $environment', async ({ service, environment = {}, says }) => {
    const told = await run(process.execPath, [`apps/${service}/dist/main.js`], {
      environment: { ...WORKING, ...environment },
      limitMs: LIMIT_MS,
    });
    expectWrongUse(told, says);
  });

  test.for(SERVICES)('%s names everything that is wrong at once', async (service) => {
    const settings = documentedSettings(service);
    const wrong = settings.flatMap((setting) => {
      const value = wrongValue(setting);
      return value === undefined || value === '' ? [] : [[setting.name, value]];
    });
    expect(wrong.length).toBeGreaterThan(5);
    const told = await run(process.execPath, [`apps/${service}/dist/main.js`], {
      environment: Object.fromEntries(wrong),
      limitMs: LIMIT_MS,
    });
    for (const [name] of wrong) expectWrongUse(told, new RegExp(`^${name} is not valid`, 'm'));
    for (const { name, mustBeSet } of settings) if (mustBeSet) expect(told.stderr).toContain(name);
  });
});
