import { configReference } from '@tailrace/service';
import { type ItemMeaning, itemRows, type RequestMeaning, requestRows } from './bulk-outcomes.ts';
import { indexerVariables } from './config.ts';

const itemMeanings: Readonly<Record<ItemMeaning, string>> = {
  stored: 'The record is settled: OpenSearch has written it to disk before it answered.',
  retry: 'This record is sent again, for as long as it takes.',
  'missing-index': 'The index is made again from the template, and the record is sent again.',
  refused: 'The event is indexed by its typed fields alone, with its text under `event_raw`. An event that breaks its contract is dead.',
  pause: 'The partition waits and the batch is tried again until somebody has acted; `/readyz` says why.',
};

const requestMeanings: Readonly<Record<RequestMeaning, string>> = {
  split: 'Its halves are sent.',
  dead: 'The record is dead.',
  pause: 'The partition waits, and the batch is tried again.',
};

function statusOf([from, to]: readonly [number, number]): string {
  return from === to ? String(from) : to - from > 99 ? 'anything else' : `${from} to ${to}`;
}

/** The page `docs/reference/indexer.md`. */
export function indexerPage(): string {
  const items = itemRows.map(
    (row) =>
      `| ${statusOf(row.status)} | ${row.types?.map((type) => `\`${type}\``).join(', ') ?? ''} | ${row.why} | ${itemMeanings[row.meaning]} |`,
  );
  const requests = requestRows.map(
    (row) => `| ${statusOf(row.status)} | ${row.why} | ${requestMeanings[row.meaning]} | ${requestMeanings[row.alone]} |`,
  );
  return `<!-- Generated from apps/indexer. Change the tables there, then run its unit tests with UPDATE_DOCS=1. -->
# The indexer

It writes every record of the stream to the OpenSearch index of the broker’s day (UTC), \`service-events-YYYY.MM.DD\`, under the record’s id. The alias \`service-events\` covers all days. A record that is read again writes the same document again.

## The document

The event’s own fields, and the record’s: \`topic\`, \`incarnation\`, \`partition\`, \`offset\` and \`kafka_timestamp\`, named as in the lake.

- Fields outside the event’s table are found under \`attributes\`. The event’s own attribute wins over a field of the same name; the whole text is then kept under \`event_raw\`.
- A \`timestamp\` that is no real instant is left out, and its text is kept under \`timestamp_raw\`. One that OpenSearch can not read as it stands (a leap second, lower case, a zone beyond 18 hours) is indexed in another form, and its text is kept too.
- What OpenSearch can not take although the event keeps its contract (an attribute of more than 32 KiB, nesting deeper than 100 levels, a name that occurs twice) is indexed by its typed fields, with \`event_raw\` and \`raw_reason\`.

## What is not indexed

| outcome | reason | when |
| --- | --- | --- |
| skipped | \`beyond-retention\` | The broker’s day is further back than \`INDEX_RETENTION_DAYS\`. |
| skipped | \`unknown-type\`, \`newer-major\` | The record’s headers name another type of event, or a newer major version. |
| dead | \`no-value\`, \`not-utf8\`, \`not-json\`, \`not-an-object\` | The value is not one JSON object in UTF-8. It is not sent. |
| dead | \`invalid-field\` | OpenSearch refused the document, and the event breaks its contract. |
| dead | \`refused\` | OpenSearch refused even the typed fields, or no body that holds the record. |

## What an answer of OpenSearch means

To one document of a bulk:

| status | type | when | what happens |
| --- | --- | --- | --- |
${items.join('\n')}

To a whole bulk (no answer at all counts as an outage: the partition waits):

| status | when | what happens | with a single record |
| --- | --- | --- | --- |
${requests.join('\n')}

## Configuration

${configReference(indexerVariables)}
`;
}
