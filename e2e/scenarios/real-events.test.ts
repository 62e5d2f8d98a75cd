import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scenarioConfig } from '../src/config.ts';
import { until } from '../src/machine/until.ts';
import { ROOT, tailrace } from '../src/pipeline/command.ts';
import { LAKE, s3Settings } from '../src/pipeline/endpoints.ts';
import { startPipeline } from '../src/pipeline/per-test.ts';
import { readLake } from '../src/proof/lake-rows.ts';
import { sinksCaughtUp, sum } from '../src/proof/prove.ts';
import { report } from '../src/report.ts';

const FILE = join(ROOT, '../shared/data/access-10k.ndjson');
const ARRIVAL_MS = 300_000;

const given = existsSync(FILE);
if (!given) report(`real events: skipped, since ${FILE} is not there`);

test.skipIf(!given || scenarioConfig.short)('10,000 real events come back from the lake byte for byte', async () => {
  const lines = readFileSync(FILE, 'latin1')
    .split('\n')
    .filter((line) => line !== '');
  const pipeline = startPipeline({ args: ['--input', FILE] });
  const endpoints = await pipeline.ready();
  await until(`${lines.length} records in all three`, ARRIVAL_MS, async () => sum(await sinksCaughtUp(endpoints)) === lines.length);

  const lake = await readLake(s3Settings(endpoints), LAKE);
  const values = lake.rows.map(({ value }) => value.toString('latin1'));
  expect(values.sort()).toEqual(lines.sort());
  const query = await tailrace(pipeline.endpointsFile, 'lake', 'query', 'SELECT count(*) AS n FROM events', '--json');
  expect(JSON.parse(query.stdout)).toMatchObject({ rows: [{ n: lines.length }] });
  expect(query.code).toBe(0);
  const audit = await tailrace(pipeline.endpointsFile, 'lake', 'audit');
  expect(audit).toMatchObject({ code: 0, stdout: expect.stringContaining('Clean') });
  report(
    `real events: ${lines.length} rows in ${lake.objects} objects, ${(lake.bytes / lines.length).toFixed(1)} bytes an event in the lake`,
  );
});
