import { kafkaSettings, LAKE, s3Settings, TOPIC } from '../pipeline/endpoints.ts';
import { Findings } from '../proof/findings.ts';
import { walkDocuments } from '../proof/index-documents.ts';
import { logEnds } from '../proof/kafka-log.ts';
import { walkLake } from '../proof/lake-rows.ts';
import { numberIn, type Place, placeOf } from '../proof/records.ts';
import type { Stage } from './stage.ts';

export interface FinalCount {
  /** By the ends of Kafka's logs: also what is deleted there since. */
  readonly records: number;
  readonly documents: number;
  readonly rows: number;
  readonly findings: readonly string[];
}

/** Holds the index, the lake and the gateway's answers against each other: Kafka no longer holds everything. */
export async function finalCount(stage: Stage): Promise<FinalCount> {
  const { endpoints } = stage.cluster;
  const findings = new Findings();
  const records = (await logEnds(kafkaSettings(endpoints), TOPIC)).reduce((sum, end) => sum + end, 0);
  const rows = new Map<Place, number>();
  await walkLake(s3Settings(endpoints), LAKE, ({ incarnation, partition }, { offset, value }) => {
    const place = placeOf(incarnation, partition, offset);
    if (rows.has(place)) findings.add('records twice in the lake', place);
    rows.set(place, value === null ? -1 : numberIn(value));
  });
  const indexed = new Set<Place>();
  await walkDocuments(endpoints.opensearchUrl, TOPIC, ({ incarnation, partition, offset, number }) => {
    const place = placeOf(incarnation, partition, offset);
    if (indexed.has(place)) findings.add('records twice in the index', place);
    indexed.add(place);
    if (rows.get(place) !== number) findings.add('documents that the lake knows otherwise', place);
  });
  for (const place of rows.keys()) if (!indexed.has(place)) findings.add('records missing in the index', place);
  const kept = new Set(rows.values());
  for (const number of stage.accepted) if (!kept.has(number)) findings.add('accepted events that are nowhere', number);
  const lines = [...findings.lines];
  if (rows.size !== records) lines.push(`Kafka counted ${records} records, and the lake holds ${rows.size}`);
  return { records, documents: indexed.size, rows: rows.size, findings: lines };
}
