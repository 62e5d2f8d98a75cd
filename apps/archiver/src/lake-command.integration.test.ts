import { randomUUID } from 'node:crypto';
import { killFromSources } from '@tailrace/service/testing';
import { afterEach, expect, test } from 'vitest';
import { runLake } from './testing/processes.ts';

/** A lake of this test's own, in which there is nothing. */
const prefix = `lake-command-${randomUUID().slice(0, 8)}`;
const own = { TAILRACE_LAKE_PREFIX: prefix };

afterEach(() => killFromSources());

test('the command line answers wrong use with code 2 and failed work with code 1, each in one sentence', async () => {
  expect(await runLake(['audit', '--no-kafka'], { ...own, TAILRACE_LAKE_BUCKET: 'no-such-bucket-here' })).toEqual({
    code: 1,
    out: '',
    errors: 'The bucket of s3://no-such-bucket-here does not exist: make it, or name another.\n',
  });
  const empty = { ...own, TAILRACE_LAKE_PREFIX: `${prefix}-none` };
  expect(await runLake(['audit', '--no-kafka'], empty)).toMatchObject({ code: 0, out: expect.stringMatching(/is empty.*\n.*--no-kafka/) });
  expect(await runLake(['audit'], { ...empty, KAFKA_BOOTSTRAP_SERVERS: '' })).toMatchObject({
    code: 0,
    out: expect.stringContaining('Kafka was not looked at (KAFKA_BOOTSTRAP_SERVERS is not set)'),
  });
  expect(await runLake(['audit'], { ...empty, KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:9' })).toEqual({
    code: 1,
    out: '',
    errors: expect.stringMatching(/^Kafka at 127\.0\.0\.1:9 could not be asked \([^\n]+--no-kafka\.\n$/),
  });
  for (const args of [[], ['query'], ['audit', '--jsno'], ['sweep']]) expect((await runLake(args, own)).code, args.join(' ')).toBe(2);
  expect(await runLake(['audit'], { ...own, AWS_REGION: '' })).toMatchObject({
    code: 2,
    errors: expect.stringContaining('AWS_REGION is not set'),
  });
}, 60_000);

test.each([
  ['SELECT nothing FROM events', /^Binder error \(line 1, column 8\): [^\n]+\n$/],
  ['SELECT 1; SELECT 2', /^The SQL holds 2 statements[^\n]+\n$/],
  ['', /^The SQL is empty[^\n]+\n$/],
  [`COPY (SELECT 1) TO '/tmp/never.csv'`, /^A query only reads: give one SELECT.\n$/],
])('the SQL %j is wrong use: code 2, one sentence, and no object is fetched', async (sql, sentence) => {
  expect(await runLake(['query', sql], own)).toEqual({ code: 2, out: '', errors: expect.stringMatching(sentence) });
});

test('a window that is no window is wrong use', async () => {
  for (const window of [
    ['--from', 'yesterday'],
    ['--to', '2026-02-30T00:00:00Z'],
    ['--from', '2026-01-02T00:00:00Z', '--to', '2026-01-01T00:00:00Z'],
  ])
    expect(await runLake(['query', 'SELECT 1', ...window], own)).toMatchObject({ code: 2, out: '' });
});

test('a query without a row says what is in Kafka only as yet: who has just posted must not think that it is lost', async () => {
  const { code, out, errors } = await runLake(['query', 'SELECT message FROM events'], own);
  expect([code, out]).toEqual([0, expect.stringContaining('(0 rows)')]);
  expect(errors).toMatch(/What has just arrived is in Kafka only, until [^\n]+ npx tailrace lake audit says how far [^\n]+\n$/);
});
