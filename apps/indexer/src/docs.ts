import { BUDGET_RULE } from '@tailrace/kafka-kit';
import { configReference } from '@tailrace/service';
import { type ItemMeaning, itemRows, type RequestMeaning, requestRows } from './bulk-outcomes.ts';
import { indexerVariables } from './config.ts';
import { keepingSettings } from './template.ts';

const itemMeanings: Readonly<Record<ItemMeaning, string>> = {
  stored: 'The record is settled: OpenSearch has written it to disk before it answered.',
  retry: 'This record is sent again, for as long as it takes.',
  'missing-index': 'The index is looked at and brought in order (see above), and the record is sent again.',
  refused:
    'The index is looked at: if it is not ours, that is its fault, and the partition waits. Else the event is indexed by its typed fields alone, with its text under `event_raw`. An event that breaks its contract is dead.',
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

## Records of another format

\`INDEXER_PARSER\` names an ES module that exports \`parse({ key, value, headers })\`: Buffers (or null) and a list of [name, Buffer or null], as they stood in Kafka. It is asked for every record, whatever its headers say, and returns one of

- \`{ kind: 'event', value }\`: the event as JSON text, a string or bytes. It is indexed as if it had stood in the record; the lake keeps the record itself.
- \`{ kind: 'skipped', reason }\`: nothing is to be indexed. It is counted under the reason.
- \`{ kind: 'dead', reason, detail }\`: bad data, which becomes a dead letter.

A reason is a short fixed word of \`a-z 0-9 . _ -\`. The function is synchronous, has no side effects and answers the same for the same record: after an outage it is asked again. What it throws makes the record dead with the reason \`parser-threw\`; any other answer stops the partition with a sentence, since that is the parser’s own fault. When a parser was wrong, mend it, restart the indexer and bring the window back: \`npx tailrace replay plan --help\`.

## What is not indexed

| outcome | reason | when |
| --- | --- | --- |
| skipped | \`beyond-retention\` | The broker’s day is further back than \`INDEX_RETENTION_DAYS\`, and no replay says to keep it (see below). |
| skipped | \`canary\` | Its \`service\` is \`tailrace.canary\`: tailrace posts such events to itself, to see how long events take. The lake keeps them. |
| skipped | \`unknown-type\`, \`newer-major\` | The record’s headers name another type of event, or a newer major version. |
| dead | \`no-value\`, \`not-utf8\`, \`not-json\`, \`not-an-object\` | The value is not one JSON object in UTF-8. It is not sent. |
| dead | \`bad-time\` | The broker’s time of the record is outside of the years 1 to 9999, so it belongs to no day’s index. Only a topic with \`message.timestamp.type=CreateTime\` takes such records. |
| dead | \`unbuildable\` | The indexer could not build the document, by a fault of its own; the detail says which. |
| dead | \`invalid-field\` | An index in order refused the document, and the event breaks its contract. |
| dead | \`refused\` | An index in order refused even the typed fields, or no body that holds the record. |

A dead record goes, with its bytes and the reason, to the topic \`service-events.indexer.dlq\` ([topics.md](topics.md)), and all others are indexed. It is passed once that is acknowledged; until then its partition waits. If that topic is missing, \`/readyz\` and the log say so within ten seconds of the first dead record: run \`npx tailrace topics apply\`, and the partition goes on by itself. The indexer needs the right to write there, and to put objects under \`_unsendable/\` into the lake’s bucket, for a record that this topic refuses.

Where the indexer stands it keeps a second time in \`tailrace.positions\` ([topics.md](topics.md#where-a-group-goes-on)), which it needs the right to read and to write. It refuses to start without that topic; if it is deleted later, records are indexed all the same, and \`tailrace_consumer_positions_total\` and the log say so.

## What Kafka deleted before it was indexed

It is read from the lake, in order, and then the partition goes on from Kafka ([topics.md](topics.md#when-records-are-missing)). The lake is opened only then. The indexer needs the right to list and read the lake’s bucket, the same \`TAILRACE_LAKE_PREFIX\` as the archiver, and room in the system’s folder for temporary files (\`TMPDIR\`) for two objects of the lake, which are removed when they are read. The topic’s retention is read once, at the start; where the indexer may not read it, all that the lake has is read there.

## Replayed records

What a replay brings back ([replay.md](replay.md)) comes by a topic of the indexer’s own, \`service-events.indexer.replay\`. The indexer reads it with a second consumer in the same process, group \`indexer.replay\`, with its own memory and its own two bulks at a time. The live consumer’s offsets, lag and order have nothing to do with it.

- Id and index are those of the record’s origin, so a record that was indexed before is overwritten, and never there twice. Where it stood comes from its \`origin.*\` headers, which count for something on this topic only.
- It keeps where it stands in \`tailrace.positions\`, with what became of each plan’s records: stored, skipped by reason, dead, tried again, the highest offset of the origin, and a checksum. It writes that before each commit and goes on there after a restart. From it \`replay run\` and \`replay receipt\` know that all was applied. While it can not be written, records are indexed all the same, nothing is committed, and \`/readyz\` is degraded.
- A record is retried in place for as long as it takes. A dead one goes to the same dead letters as a live one, under its origin’s coordinates, with how often it was brought back (\`dlq.replays\`).
- A replay made with \`--keep DAYS\` lets the indexer make, and write to, the index of a day beyond \`INDEX_RETENTION_DAYS\`. Until when it is kept stands in the index’s mapping, as \`_meta.expires_at\`; a later replay that keeps it longer moves that, and an earlier time never replaces a later one. The indexer deletes no index, of whatever day: who deletes old ones must leave one alone until its \`expires_at\`.
- A fault of the side channel stops no live record. \`/readyz\` is then degraded (\`replay\`), and a consumer that broke is started again by itself. If the topic is deleted and made anew while the indexer runs, its partitions stand still until a restart, which reads the new one from its start.

## When a partition stops

One bad service must not stop the others, and a fault of the indexer’s own must not bury everything. So dead records are counted per partition, by reason and service (which is looked for in broken values too), over the latest ${BUDGET_RULE.windowRecords} records. The partition stops, before the next dead record, when

- at least ${BUDGET_RULE.minKeys} of these keys have dead records, and
- the dead records, of each key no more than ${BUDGET_RULE.recordsPerKey}, are ${BUDGET_RULE.minRecords} or more and outnumber all records that went well.

\`/readyz\`, the log and \`tailrace_consumer_halted\` say so, with the largest keys and their counts, and with one of the records and the command that shows it. Nothing of it is passed over. Put the fault right and restart the indexer: it reads on from there. If the records are bad indeed, restart it with \`INDEX_DEAD_LETTER_HALT=0\` in its environment. \`npm start\` gives its own environment to the indexer: end it, and start it with \`INDEX_DEAD_LETTER_HALT=0 npm start -- --data DIR\` on the same folder. Without \`--data\` the next start begins with no records at all.

## The index

An index is written to only while it has the indexer’s mapping, settings and aliases. It is looked at before the first write to it, every ten seconds while it is in use, and whenever it has refused something.

| found | what happens |
| --- | --- |
| no index | It is made with mapping, settings and alias. What the request names wins over any index template. |
| an alias is missing or has a filter or a routing; a field that a newer version has added is missing | It is added. Documents stay. |
| a field of another type, another \`dynamic\`, no \`_source\`, an \`event_raw\` field | Nothing is written to it, the partitions wait, and \`/readyz\` is not ready and says what is wrong and which template of others wins. |
| another value of ${Object.entries(keepingSettings)
    .map(([setting, value]) => `\`${setting}: ${value}\``)
    .join(', ')} | As above. |

To end the wait, put right what the sentence names, or delete the index (the indexer makes it anew, and brings no older documents back). Nothing needs a restart. More fields than the indexer’s own do no harm.

Bulks go through the hidden alias \`<index>-write\` with \`require_alias\`. Only an index that was found to be in order gets that alias, and one that is not loses it. So an index that is deleted and made anew by somebody else, at whatever moment, gets nothing: OpenSearch itself refuses the write, and makes no index by it. Do not set this alias by hand. One window remains: what somebody changes *inside* an index that stands (its mapping, its settings, the alias \`service-events\`) is seen after ten seconds at most, or at the first refusal.

The indexer needs the rights to write, to create indices and index templates, to read index metadata, and to manage mappings and aliases of \`service-events-*\`, on OpenSearch 2.12 or newer.

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
