import { type GroupDeclaration, groups } from '@tailrace/events';
import { CLOCK_SLACK_MS, LIVE_TAIL_MS, type Missing, span } from '@tailrace/lake';
import { configReference } from '@tailrace/service';
import type { Command } from 'commander';
import { replayerVariables } from './config.ts';
import { WORDS } from './offsets.ts';
import { buildProgram } from './replay-command.ts';

const GENERATED =
  '<!-- Generated from apps/replayer. Change the commands or the text there, then run its unit tests with UPDATE_DOCS=1. -->';

const MEANINGS: Readonly<Record<Missing['kind'], string>> = {
  hole: 'Nobody has it, and nobody has declared it: Kafka deleted it before it was archived, or the lake has lost it. Exit code 1. `npx tailrace lake audit` says more.',
  lost: 'Kafka deleted it before it was archived, and the archiver has written that down. It is named and is no hole.',
  'before-archive': 'Kafka had deleted it before the archiver ran for the first time.',
};

const all: readonly GroupDeclaration[] = groups;
const takers = all.filter(({ state, sideTopics }) => state === 'active' && sideTopics.includes('replay')).map(({ name }) => name);

function usage(command: Command): string {
  command.configureOutput({ getOutHelpWidth: () => 110 });
  return `\`\`\`\n${command.helpInformation().trimEnd()}\n\`\`\``;
}

/** The page in docs/reference. */
export function replayPage(): string {
  const none = {
    out: () => {},
    note: () => {},
    nowMs: () => 0,
    environment: {},
    topics: [],
    positionsTopic: '',
    signal: new AbortController().signal,
  };
  const replay = buildProgram(none, () => {}).commands[0];
  if (replay === undefined) throw new Error('the program has no command');
  const usages = replay.commands.map((command) => `### replay ${command.name()}\n\n${usage(command)}`);
  const kinds = Object.entries(WORDS).map(([kind, words]) => `| ${words} | ${MEANINGS[kind as Missing['kind']]} |`);
  return `${GENERATED}
# Replay: a window of time, brought back into one consumer

\`window\`, \`plan\`, \`show\` and \`run --dry-run\` only look: they join no group, commit nothing, and send no record. \`plan\` writes one small object into the lake's bucket. \`run\` sends records onto the side channel of the one consumer that is named, a topic of its own (\`<topic>.<consumer>.replay\`): no other group, and nothing of the live topic, is touched.

## How long is replay true for?

\`replay window\` answers it. Of each partition it shows the first offset, and its instant in UTC and local time, that can be had from Kafka (the broker time of the log's first record) and from the lake (the first object of the chain, and the chain's end). Below stands what is missing:

| it says | which is |
| --- | --- |
${kinds.join('\n')}

Of a long chain few entries are read: all that stand for no object, those at its ends, and, for a plan, those of the window's hours and around them. Whether everything else is as the ledger says is what \`npx tailrace lake audit\` finds.

The last line is the answer: since when every record of every partition can be brought back. Where there is a hole, that is since behind the latest one; what is older can be had in part.

As a metric the archivers tell it, each for its own partitions, looked up every five minutes: \`tailrace_replay_window_start_seconds\` is the broker time of the oldest record, by source. How far back all partitions can be replayed, in seconds, is in Prometheus:

\`\`\`
time() - max(min by (topic, partition) (tailrace_replay_window_start_seconds))
\`\`\`

The metric knows the first object of each chain, the first record of each log, and whether the two meet (\`tailrace_replay_window_hole_offsets\` above 0: they do not). It lists no lake, so holes and losses further inside a chain are seen by \`replay window\` alone.

## A plan

\`replay plan\` resolves a window of time into offsets and freezes them. A plan names **offsets, never sources**: where a record is read is decided when it is read, from the lake or from Kafka, whichever has it then. \`show\` and \`plan\` say what has them now.

- The window is \`--from\` <= time < \`--to\`: a record exactly at \`--from\` is in it, one exactly at \`--to\` is not. Times need a zone. With \`--by broker\`, the default, the time of arrival counts; with \`--by event\` the event's own, which may be off the arrival by \`--skew\` to either side.
- The offsets hold more than the window, and never less: of what is archived, all objects with records from ${span(CLOCK_SLACK_MS)} before the window to ${span(CLOCK_SLACK_MS)} behind it (and the skew); of what is not archived yet, all from Kafka's answer for the one time to its answer for the other. What is too much is left out by its time when it is read.
- A new leader may step the brokers' clock back. A step of more than ${span(CLOCK_SLACK_MS)} across the window is named (\`CLOCK STEP\`), and the plan then reads on to the end of the log, since Kafka's index by time may pass over records behind it. What is archived needs no such care: the least and the greatest time of an object hold for all its records. Behind the lake's end a step is seen by the first, the middle and the last record: a clock that went back and forth again between them is not seen until these records are archived, so plan once more then if the clocks of your brokers do that.
- A window that ends before the oldest record is refused, with what can still be had from where. So is one in which the topic was deleted and made anew: a plan never mixes two lives of a topic.
- \`--into\` takes ${takers.join(', ')}. The archiver is refused, since the lake has the records; so is the alert-processor, since what would have fired is a backtest of a rule and no replay.
- A plan is an object \`<prefix>/_replay/plans/<number>.json\`, put once and never changed. \`--dry-run\` stores none; neither does a plan with nothing to read.

Counts: \`offsets\` are exact. \`records\` is how many there are at most: exact for what is archived; behind it, offsets that never held a readable record count too. The size is that of the objects that would be opened; of what is in Kafka only, no size is known.

More that a plan freezes: \`--where\` (a field of the event, or \`attributes.NAME\`, held against a value; of several all must hold), and \`--keep\`. The indexer skips what arrived longer ago than \`INDEX_RETENTION_DAYS\`, so a window that reaches further back is refused unless \`--keep DAYS\` says for how many days it is to keep those days' indices. An event that names no time of its own is chosen by its arrival also with \`--by event\`.

## A run

\`replay run\` sends a plan and waits until the consumer has applied all of it.

- **Sources.** The lake for what is archived and older than ${span(LIVE_TAIL_MS)}; Kafka, which holds that in memory, for the rest. It is decided while reading: what Kafka deletes meanwhile comes from the lake, and after every chunk from Kafka the lake is asked again. What the lake has a hole for, or has declared lost, comes from Kafka where that still has it. Each offset is read once. Voids and declared losses are passed and counted; at offsets that nobody has and nobody has declared the run stops with exit code 1 and names them; what Kafka has deleted and the archiver is about to put is waited for. \`--source\` reads from one of them alone.
- **Bounds.** \`--rate\` bounds the bytes a second. While \`--max-unread\` records wait on the side channel nothing more is sent; a consumer that is away is waited for. While a live group that has members is more than 2 s behind and falls back further, the replay pauses (one that holds batches, as the archiver: while it is behind by more than its allowed delay). A partition whose commit has stood for a minute is stopped, not slow, and keeps a replay no longer. It says why it waits.
- **Order.** In the order of offsets in each partition. No order is promised between replayed and live records of a key: a replay repairs what is stored under the record's own id.
- **Interrupted**, also by kill -9: \`run\` with the same number goes on where it stopped. What stands on the side channel tells how far it got, so nothing is left out, and what may be sent twice is counted once.
- **One at a time.** A run into a consumer waits, and says for which, while an earlier one is neither over nor cancelled.
- **Too large.** A record that the side channel refuses as too large is named with its offset, and the run stops there: raise \`max.message.bytes\` of that topic with Kafka's \`kafka-configs.sh\`, run the plan again, and put the setting back with \`npx tailrace topics apply\`.
- \`--detach\` ends when all is sent. \`cancel\` stops the sending, and later runs go on; what stands on the side channel is still applied. It takes a run of which all is sent, too: that is the way out where the side channel was made anew, or its records were deleted, before they were applied. A plan is run once: to send a window again, make a new plan.

## A receipt

Two parts: what was *sent*, and what became of it. Per partition: records, bytes, where they were read, what was passed; stored, skipped (by reason; canaries are skipped whatever the consumer’s state, as \`canary\`, and spoil no verdict), dead, tried again. Each has a checksum: the sum modulo 2^64 of the first 8 bytes of SHA-256 over each record's offset (8 bytes), then length (4 bytes, -1 for null) and bytes of key and of value. The two are over the same records, so they are equal when exactly what was sent was applied. Records are counted once, by their origin's offset, however often they came. On Kafka a plan is named by its number and the beginning of its own id (\`7-1a2b3c4d\`, also in the header \`replay.plan\`), so plan 7 of another lake is never taken for it.

It is an object beside the run, put once everything was applied: by \`run\`, or by the first \`receipt\` or \`ls\` after that. Exit code 1 when it is not complete, when the two parts differ, when a record became a dead letter, when nothing at all was stored, when the sending was cancelled, and when the plan had a hole.

What the plan already named as missing stands in the receipt with its offsets: holes and declared losses of the window that it could not even try to send.

Of a run that was cancelled the receipt is put also when something that was sent can not come any more: the side channel has another life by now, or begins above it. \`gone\` counts those records, and the two parts differ.

| object under \`<prefix>/_replay/\` | what it is |
| --- | --- |
| \`plans/<plan>.json\` | a plan |
| \`<consumer>/<run>.json\` | that a plan is to be sent |
| \`<consumer>/<run>.cancelled.json\` | that it is to be sent no further |
| \`<consumer>/<run>.sent.json\` | what was sent, when that was over |
| \`<consumer>/<run>.receipt.json\` | the receipt |

## Settings

${configReference(replayerVariables)}

Exit codes: 0 good; 1 a hole, nothing to read, a receipt that is not good, or a server that does not answer; 2 wrong use; 130 interrupted.

## Commands

${usages.join('\n\n')}
`;
}
