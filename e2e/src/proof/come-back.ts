import { expect } from 'vitest';
import { until } from '../machine/until.ts';
import { tailrace } from '../pipeline/command.ts';
import { LAKE, s3Settings } from '../pipeline/endpoints.ts';
import { startPipeline } from '../pipeline/per-test.ts';
import { readLake } from './lake-rows.ts';
import { sinksCaughtUp, sum } from './prove.ts';

const ARRIVAL_MS = 300_000;

/** Posts the file's lines through a pipeline of its own, and holds that each is in all three and comes back from the lake byte for byte. */
export async function comeBack(file: string, lines: readonly string[]): Promise<{ readonly objects: number; readonly bytes: number }> {
  const pipeline = startPipeline({ args: ['--input', file] });
  const endpoints = await pipeline.ready();
  await until(`${lines.length} records in all three`, ARRIVAL_MS, async () => sum(await sinksCaughtUp(endpoints)) === lines.length);

  const { rows, objects, bytes } = await readLake(s3Settings(endpoints), LAKE);
  const wanted = lines.map((line) => Buffer.from(line).toString('latin1')).sort();
  const values = rows.map(({ value }) => value.toString('latin1'));
  // Not toEqual: it would print megabytes.
  expect(values.sort().every((value, i) => value === wanted[i]) && values.length === wanted.length).toBe(true);
  const query = await tailrace(pipeline.endpointsFile, 'lake', 'query', 'SELECT count(*) AS n FROM events', '--json');
  expect(JSON.parse(query.stdout)).toMatchObject({ rows: [{ n: lines.length }] });
  expect(query.code).toBe(0);
  const audit = await tailrace(pipeline.endpointsFile, 'lake', 'audit');
  expect(audit).toMatchObject({ code: 0, stdout: expect.stringContaining('Clean') });
  return { objects, bytes };
}
