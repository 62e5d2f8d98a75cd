import { expect } from 'vitest';
import { until } from '../machine/until.ts';
import { tailrace } from '../pipeline/command.ts';
import { type Endpoints, kafkaSettings, LAKE, s3Settings, TOPIC } from '../pipeline/endpoints.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { report } from '../report.ts';
import type { Traffic } from '../traffic/traffic.ts';
import { contradictions, doubled, type Sources } from './compare.ts';
import { countDocuments, readDocuments } from './index-documents.ts';
import { logEnds, readLog } from './kafka-log.ts';
import { countRows, readLake } from './lake-rows.ts';

const SETTLED_MS = 240_000;

/** Waits until both sinks hold as much as the log does. Gives the log's ends. */
export async function sinksCaughtUp(endpoints: Endpoints): Promise<number[]> {
  return await until('OpenSearch and the lake holding as many records as Kafka', SETTLED_MS, async () => {
    const ends = await logEnds(kafkaSettings(endpoints), TOPIC);
    const records = sum(ends);
    const documents = await countDocuments(endpoints.opensearchUrl, TOPIC);
    const rows = await countRows(s3Settings(endpoints), LAKE);
    if (documents >= records && rows >= records) return ends;
    throw new Error(`${records} records, ${documents} documents, ${rows} rows`);
  });
}

/** Waits until something has reached both sinks: from then on all parts are at work. */
export async function sinksMove({ endpoints }: Pipeline): Promise<void> {
  await until('something in OpenSearch and in the lake', SETTLED_MS, async () => {
    const [documents, rows] = await Promise.all([countDocuments(endpoints.opensearchUrl, TOPIC), countRows(s3Settings(endpoints), LAKE)]);
    return documents > 0 && rows > 0;
  });
}

/** Reads all three once nothing is under way any more: what was read then is what stays. */
async function readAll(endpoints: Endpoints): Promise<Sources & { readonly objects: number; readonly bytes: number }> {
  return await until('three sources that hold still', SETTLED_MS, async () => {
    const ends = await sinksCaughtUp(endpoints);
    const log = await readLog(kafkaSettings(endpoints), TOPIC);
    const documents = await readDocuments(endpoints.opensearchUrl, TOPIC);
    const lake = await readLake(s3Settings(endpoints), LAKE);
    const after = await logEnds(kafkaSettings(endpoints), TOPIC);
    // A record of a post that nobody waits for any more may still come: then all is read again.
    return String(after) === String(ends) ? { log, documents, ...lake } : undefined;
  });
}

/** Stops the traffic and holds Kafka, OpenSearch, the lake and the answers against each other. */
export async function prove(what: string, pipeline: Pipeline, traffic: Traffic): Promise<void> {
  await traffic.stop();
  const sources = await readAll(pipeline.endpoints);
  const { posted, accepted, notKept, unknown, maybeTwice } = traffic.fates.counts();
  const lost = traffic.answers.filter(({ answered }) => answered === 'lost').length;
  const open = traffic.answers.filter(({ answered }) => answered === 'unknown').length;
  report(
    `${what}: ${posted} events posted, ${accepted} accepted, ${notKept} not kept, ${unknown} unknown; ${lost} posts without an answer and ${open} of unknown fate were repeated (${maybeTwice} events), ${doubled(sources)} events are two records`,
  );
  report(
    `${what}: ${sources.log.values.size} records in Kafka, ${sources.documents.length} documents, ${sources.rows.length} rows in ${sources.objects} objects, ${(sources.bytes / sources.rows.length).toFixed(1)} bytes an event in the lake`,
  );
  expect(traffic.answers.filter(({ answered }) => answered === 'unfit').map(({ code }) => code)).toEqual([]);
  expect(contradictions(sources, traffic.fates)).toEqual([]);
  const audit = await tailrace(pipeline.endpointsFile, 'lake', 'audit');
  expect(audit, 'tailrace lake audit').toMatchObject({ code: 0, stderr: '' });
  expect(audit.stdout).toContain('Clean: every offset is covered exactly once.');
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
