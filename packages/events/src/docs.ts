import { EVENT_TYPE_HEADER, EVENT_VERSION_HEADER, SERVICE_EVENT_TYPE, SERVICE_EVENT_VERSION } from './event-headers.ts';
import { type Field, MAX_EVENT_BYTES, serviceEventFields } from './fields.ts';
import { gapPolicies, groups, replayable } from './groups.ts';
import { eventFieldMappings } from './index-mapping.ts';
import { serviceEventSchema } from './json-schema.ts';
import { parquetColumns } from './parquet-columns.ts';
import { topicsFor } from './topics.ts';

const GENERATED = '<!-- Generated from packages/events. Change the tables there, then run its unit tests with UPDATE_DOCS=1. -->';

function rule(field: Field): string {
  switch (field.kind) {
    case 'instant':
      return 'a real instant with a zone';
    case 'string': {
      if (field.maxLength === undefined) return '';
      return field.minLength === undefined
        ? `at most ${field.maxLength} characters`
        : `${field.minLength} to ${field.maxLength} characters`;
    }
    case 'number':
      return field.min === undefined ? '' : `at least ${field.min}`;
    case 'integer':
      return `${field.min} to ${field.max}`;
    case 'enum':
      return field.values.join(', ');
    case 'object':
      return '';
  }
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The page `docs/reference/event.md`. */
export function eventPage(): string {
  const kinds = { instant: 'string, RFC 3339', enum: 'string, one of' } as const;
  const fields: readonly Field[] = serviceEventFields;
  const rows = fields.map((field, place) => [
    `\`${field.name}\``,
    field.kind === 'instant' || field.kind === 'enum' ? kinds[field.kind] : field.kind,
    field.required ? 'yes' : '',
    rule(field),
    field.about,
    String(eventFieldMappings[field.name]?.type),
    parquetColumns[place]?.duckdbType ?? '',
  ]);
  return `${GENERATED}
# The service event, version ${SERVICE_EVENT_VERSION}

One JSON object in UTF-8, at most ${MAX_EVENT_BYTES / 1024} KiB. The same as JSON Schema: [event.schema.json](event.schema.json).

${table(['field', 'type', 'required', 'rule', 'what it is', 'in OpenSearch', 'in the lake'], rows)}

- Any other field is accepted and kept as it is. In OpenSearch and in the lake it is found under \`attributes\`.
- An optional field that is \`null\` counts as absent.
- A timestamp may have up to nine digits behind the second. OpenSearch sorts by milliseconds and the lake's column by microseconds; the exact text stays in the event. The second 60 is accepted as the last one of a month in UTC.
- A name that occurs twice in one object is accepted, and the last value counts for the checks and the key. A store may take another one: do not rely on it.

## The record in Kafka

- **Key**: \`customer_id\` in UTF-8, partition by murmur2 as in Java's default partitioner, so the order holds per customer. Without \`customer_id\` the record has no key and may go to any partition.
- **Value**: the bytes of the event as they were posted.
- **Headers**: \`${EVENT_TYPE_HEADER}\` = \`${SERVICE_EVENT_TYPE}\`, \`${EVENT_VERSION_HEADER}\` = \`${SERVICE_EVENT_VERSION}\`. A record without them counts as a current event.
- **Record id**: \`<topic>~<incarnation>-<partition>-<offset>\`, where the incarnation is the first 8 characters of the topic's id in base64url. It needs nothing from the event, so it is the same for ever.

## Choosing events

Where a command takes a filter (\`--where\`), it is one comparison: a field, an operator, a value, such as \`status_code >= 500\` or \`customer_id = acme\`. It is only compared: there are no patterns and no expressions.

- **Field**: one of the table, or \`attributes.NAME\`, where all behind the first dot is one name. As in the lake, a field outside the table is found there too, and the event’s own attributes win.
- **Operator**: \`=\`, \`!=\`, \`<\`, \`<=\`, \`>\`, \`>=\`. Numbers compare as numbers and timestamps as instants, to the nanosecond; texts by \`=\` and \`!=\` only.
- **Value**: bare, without white space, or in double quotes as a string of JSON. A bare number, \`true\` or \`false\` behind an attribute is compared with one; in double quotes it is a text.
- Where there is nothing to compare nothing matches, **with \`!=\` neither**, as with NULL in SQL: a field that is absent, null or of another type, and a record that is no JSON object. So \`region = eu\` and \`region != eu\` together are not all events.

## How it grows

Fields are only added, and only as optional ones. A field is never removed, renamed, retyped, made required or given a tighter rule; a breaking change is a new event type beside this one. A test holds the table against every released version.
`;
}

const deadLetterHeaders: readonly (readonly string[])[] = [
  ['`dlq.reason`', 'A short fixed word: which rule the record broke.'],
  ['`dlq.detail`', 'What is known besides, at most 1 KiB.'],
  [
    '`dlq.source.topic`, `.incarnation`, `.partition`, `.offset`, `.timestamp`',
    'Where the record stood at first; the time is the broker’s, in ms.',
  ],
  ['`dlq.via.…`', 'The same five of where it came from last: a side topic, else the same again.'],
  ['`dlq.group`', 'Who could not take it: the group, or `<group>.replay` of what died on its side channel.'],
  ['`dlq.attempts`', 'How many times it was tried since it was read.'],
  ['`dlq.replays`', 'How many times it was brought back from the dead letters. It travels on in the side channel, and back.'],
  ['`dlq.failed_at`', 'When, in RFC 3339.'],
  ['`origin.topic`, `.incarnation`, `.partition`, `.offset`, `.timestamp`', 'As `dlq.source.…`: on every side topic.'],
  ['`origin.empty`', '`key`, `value` or `key,value`: what is null here was empty.'],
  [
    '`origin.headers`',
    'Base64 of a JSON list of `[place, name, base64 or null]`: original headers that could not be carried, with their place in the list.',
  ],
];

/** The page `docs/reference/topics.md`. */
export function topicsPage(): string {
  const common = ['max.message.bytes', 'min.insync.replicas', 'unclean.leader.election.enable'];
  const topics = topicsFor('cluster').map((topic) => [
    `\`${topic.name}\``,
    topic.state,
    topic.about,
    String(topic.partitions),
    topic.key,
    Object.entries(topic.configs)
      .filter(([name, value]) => !common.includes(name) || (name === 'max.message.bytes' && value !== '2097152'))
      .map(([name, value]) => `${name}=${value}`)
      .join(', '),
  ]);
  const rows = groups.map((group) => [
    `\`${group.name}\``,
    group.state,
    group.about,
    `${group.allowedDelayMs / 1000} s`,
    group.gapPolicy,
    group.position === 'kafka' ? 'its commit in Kafka' : 'its chain in the lake',
    group.retry,
    group.protocol,
    group.start,
  ]);
  const policies = Object.entries(gapPolicies).map(([name, about]) => [`\`${name}\``, about]);
  return `${GENERATED}
# Topics and groups

\`npx tailrace topics plan\` shows how the cluster differs from this table, and \`npx tailrace topics apply\` makes the topics that are **active**. What is *planned* is declared, and not made yet.

${table(['topic', 'state', 'what it holds', 'partitions', 'key', 'settings'], topics)}

On every topic: replication factor 3, min.insync.replicas=2, unclean.leader.election.enable=false, max.message.bytes=2097152 where the table does not say more. With the local profile (one broker) it is replication factor 1 and min.insync.replicas=1: nothing is kept twice there.

The partitions of a keyed topic are never raised: that would break the order per key for ever.

A side topic (\`<topic>.<group>.dlq\` and its like) must keep its records longer than its source really does in the cluster; \`plan\`, \`apply\` and each service at its start say so when it does not.

${table(['group', 'state', 'what it does', 'allowed delay', 'when Kafka lost records', 'position', 'retry', 'protocol', 'starts at'], rows)}

## When records are missing

At every assignment, and whenever an offset comes that was not expected, a partition's position is held against the log:

- **expired**: it lies below the log's start. Retention, or somebody, deleted what was not read yet.
- **truncated**: it lies above the log's end, as after an unclean leader election. Believed when a second look-up 10 s later agrees.
- **recreated**: the topic was deleted and made anew under its name. Believed likewise, also after a restart: the group’s position in \`tailrace.positions\` names the life of the topic that it is of.
- **void**: offsets that never held a record for readers, such as the markers of transactions. Nothing is missing; they are counted.

${table(['policy', 'what it does about expired records'], policies)}

With \`restore\` a partition reads what is missing from the lake, in order, and goes on from Kafka as soon as that has the next record and keeps it for longer than another hour (of a retention below four hours: a quarter of it), or at the lake’s end. What the lake declares lost, or has from before the archive, is passed and counted. What is not archived yet is waited for: it is asked for every 30 seconds, and \`/readyz\` names the range. What the lake should have and has not (an object that is gone or damaged) halts the partition by its exact range. Mend it and restart the group; or pass it with \`group reset --to offset:N\`, which for such a group may name an offset that Kafka no longer holds. While it restores, \`/readyz\` is degraded and says how far it is, \`tailrace_consumer_restoring\` is 1, and the log says when it began and ended, with counts.

With \`fresh-first\` a partition goes on at the first record of the time that the group’s longest look-back needs, counted from now, or at the log’s start where that is later. What it passed is told: for the alert processor, alerts then say from when on the partition was counted.

## Where a group goes on

Kafka forgets a group’s commits when it has had no member for 7 days, and those of a topic at once when that is deleted. So the groups whose position is their commit keep it a second time, in \`tailrace.positions\`: behind each commit, once a minute for a partition that moves, and when a partition is given back. A partition is opened by the first of these that there is:

1. a position in another life of the topic: the partition is *recreated* (see above);
2. the commit, also where it is lower than the position: that is a reset;
3. the position;
4. the log’s start, where another partition of the topic has a position: the group is not new, this partition is;
5. nothing anywhere: a new group. It starts as its row says, and its position and its first commit stand before it reads a record.

A record there has the key \`["position", group, topic, partition]\` and the value \`{"incarnation": …, "next": …}\`: the first eight characters of the topic’s id, and the next offset to read. Of a group that has only begun it also has \`"first": true\`. What nobody can read is passed and counted.

The consumer of replayed records (group \`indexer.replay\`) keeps a record of the same kind before each commit, with what became of each plan’s records below it (\`"plans"\`), and goes on there whatever its commit says; without one, and in a side channel that was made anew, it begins at the log’s start. Beside it stand the senders’ records, \`["sent", group, plan, topic, partition]\`: how far a plan was sent, until its receipt is put. A plan is named here, and in the header \`replay.plan\` of its records, by its number and the beginning of its own id (\`7-1a2b3c4d\`): number 7 alone is also a plan of another lake on the same Kafka.

While the topic can not be written or read, every group reads live records on (of replayed ones nothing is committed then, and no partition is opened); \`tailrace_consumer_positions_total\` counts it, and the log says what to do. Only a partition without a commit waits for it, because without it nobody can tell a new group from a forgotten one. The services need the right to read and write there.

A truncated log halts every group, and a topic made anew halts all but those with \`record-and-go-on\`, which write down where the old one ended and read the new one from its start.

A partition that halts says so in \`/readyz\` (degraded), in the log and in \`tailrace_consumer_halted\`; it never ends the process. \`npx tailrace group lag\` shows the range of a gap. Of a partition that was halted for its dead letters, or by its sink, Kafka knows only that its commit does not move: \`group lag\` names it as standing still, counts the dead letters among the 1,000 offsets before it, and sends you to \`/readyz\`, which says why and what ends it. (The archiver’s commit stands for minutes while it goes on, so of the archiver only what is later than its allowed delay is named; \`/readyz\` and \`lake audit\` say more.) How long records wait is the broker’s time against the clock of the machine that asks.

To end a halt before a gap, stop the group, move it, and start it again. This is for services that you run yourself: \`npm start\` starts a service that ends at once again, so its group is never stopped. What that would do, of a group that runs as well:

\`\`\`sh
npx tailrace --endpoints tailrace.json group reset --group indexer --topic service-events --partition 3 --to earliest --dry-run
\`\`\`

\`--to\` is \`earliest\`, \`latest\`, a time such as \`2026-01-31T12:00:00Z\`, or \`offset:123\`. Without \`--dry-run\` it shows what would be read again and what would be passed over, and asks; \`--yes\` answers. A group that runs is refused, and so is one whose position is in the lake. A sink that writes under record ids, as the indexer does, doubles no document when records are read again; a record that it could not take becomes a dead letter once more. What a reset passes over is in no index afterwards; the lake has it where the archiver read it.

## Dead letters

A record that a group could not take lies in \`<topic>.<group>.dlq\`, in the partition of its number, with its original key, value and headers and these on top. \`npx tailrace dlq ls\` and \`npx tailrace dlq show\` read them, and \`npx tailrace dlq replay\` brings them back. One that the topic refuses (too large even there) is stored in the lake’s bucket as JSON with all of this, under \`<prefix>/_unsendable/<group>/<topic>~<incarnation>/<partition>/<offset, 20 digits>.json\`.

${table(['header', 'what it says'], deadLetterHeaders)}

What this client can not carry as it is (an empty key or value, a header with a null value or a NUL in its name, a header with a name of ours) travels in \`origin.empty\` and \`origin.headers\`, and \`dlq show\` gives it back. So in another tool a null key or value is an empty one where \`origin.empty\` names it.

## Dead letters once more

\`npx tailrace dlq replay --group ${replayable[0]?.name}\` sends dead letters to their group once more, through its side channel (\`<topic>.<group>.replay\`), in the partition of their number and with their original key, value, headers and coordinates: the group writes them under the ids that they always had, so nothing is doubled. It takes the filters of \`dlq ls\` (\`--reason\`, \`--source\`, \`--from\`, \`--to\`), shows what it would send, and asks; \`--yes\` answers, \`--dry-run\` sends nothing. No live group is touched.

- **Of each record only its latest letter counts**: the one with the most rounds behind it, of those the newest. A record has several when it died again after it was brought back, when it was read again after a reset, and sometimes after a crash. A filter is about that latest one, and each record is sent once, with \`dlq.replays\` one higher.
- **The sixth round is refused**, counted and named: what five rounds did not bring through needs a person.
- **What the topic held at the beginning is meant.** What dies again meanwhile is not sent again by the same command.
- **Was it taken?** \`npx tailrace group lag --group ${replayable[0]?.name}.replay\` counts what waits in the side channel. Once that is 0, all were tried, and \`npx tailrace dlq ls --from\` with the time of the replay shows those that died again (the command prints both lines); the others are fine. Their letters stay until they expire: sent once more, they only write the same again.
- Sending stops with exit code 1 when Kafka has acknowledged nothing for 90 seconds, and says how far it got; run it again. Letters under \`_unsendable/\` in the bucket are not sent: no topic takes them.
- It needs 60 bytes of memory for each record that has letters, and reads the topic three times. \`--source TOPIC/PARTITION\` narrows it to one partition.

\`group reset --topic <topic>.<group>.replay\` ends a halt of a side channel; what was counted there of replays under way is then forgotten, and their receipts stay short.
`;
}

/** The file `docs/reference/event.schema.json`. */
export function eventSchemaFile(): string {
  return `${JSON.stringify(serviceEventSchema, null, 2)}\n`;
}

/** Every generated page by its place in the repository. */
export const generatedDocs: Readonly<Record<string, () => string>> = {
  'docs/reference/event.md': eventPage,
  'docs/reference/topics.md': topicsPage,
  'docs/reference/event.schema.json': eventSchemaFile,
};
