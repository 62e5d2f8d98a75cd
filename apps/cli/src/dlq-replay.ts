import { replayable, replayGroupName, sideTopicName } from '@tailrace/events';
import {
  connectPublisher,
  encodeSideRecord,
  isoTime,
  type KafkaSettings,
  type OutgoingRecord,
  type Publisher,
  TAILRACE,
} from '@tailrace/kafka-kit';
import { ConfigError, printable } from '@tailrace/service';
import { counted, Heaps, heapLines } from './dlq-heaps.ts';
import { type DlqFilter, type DlqTopic, isMeant, type Place } from './dlq-options.ts';
import { type DlqAdmin, type DlqExtent, extentsOf, type ReadRanges } from './dlq-read.ts';
import { type Found, LatestLetters } from './latest-letters.ts';
import { EXIT, type Output } from './output.ts';

export interface DlqReplayFlags {
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly json: boolean;
}

export interface DlqReplayPorts {
  readonly admin: DlqAdmin;
  readonly read: ReadRanges;
  /** Opened once it is sure that something is sent. */
  readonly connect: () => Promise<Pick<Publisher, 'publish' | 'close'>>;
  /** Shows the question and waits for the answer; undefined where there is no terminal to ask at. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined;
  /** Takes a line about what goes on. */
  readonly note: (line: string) => void;
  readonly nowMs: () => number;
}

/** A record that five rounds did not bring through is not brought back a sixth time. */
const MAX_ROUNDS = 5;
const MAX_NAMED = 10;
const PUBLISH_MS = 30_000;
/** Nothing acknowledged in so many tries: Kafka is away for longer than somebody waits at a terminal. */
const TRIES = 3;
const TELL_EVERY_MS = 5000;
const CLOSE_MS = 10_000;
const MAX_IN_FLIGHT_BYTES = 64 * 1024 * 1024;
/** Above what any topic takes: the broker decides, on compressed bytes, what is too large for it. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

export function connectSender(settings: KafkaSettings): Promise<Publisher> {
  return connectPublisher(settings, {
    producers: 1,
    maxInFlightBytes: MAX_IN_FLIGHT_BYTES,
    log: () => {},
    producer: { maxMessageBytes: MAX_MESSAGE_BYTES },
  });
}

/** What is to be sent, counted before anything is. */
interface Survey {
  readonly heaps: Heaps;
  readonly sendable: number;
  /** What was brought back five times, and the first of them. */
  readonly refused: number;
  readonly refusedAt: readonly Place[];
}

/**
 * Sends the dead letters that the filter means into their group's side channel, once it has shown them and was told yes. Of each record only the latest
 * letter counts, and of the topic what it held at the beginning: what dies again meanwhile is not sent again. Exit code 1 where something was refused or
 * nothing matched. Throws ConfigError for wrong use, with nothing sent.
 */
export async function dlqReplayCommand(
  ports: DlqReplayPorts,
  topic: DlqTopic,
  filter: DlqFilter,
  flags: DlqReplayFlags,
  output: Output,
): Promise<number> {
  const into = channelOf(topic);
  if (!flags.dryRun && !flags.yes && (ports.confirm === undefined || flags.json))
    throw new ConfigError([
      `${TAILRACE} dlq replay asks before it sends, and ${flags.json ? 'with --json' : 'without a terminal'} it can not: say --yes, or --dry-run to see what it would send.`,
    ]);
  const extents = await extentsOf(ports.admin, topic.topic);
  await requireSamePartitions(ports.admin, topic, into, extents);
  const read = (): ReturnType<ReadRanges> => ports.read(rangesOf(topic, extents, filter));
  const latest = new LatestLetters(topic);
  for await (const records of read()) for (const record of records) latest.add(record);
  // Read again instead of kept: a million letters are too much to hold.
  const meant = async function* (): AsyncGenerator<readonly Found[]> {
    for await (const records of read()) yield latest.among(records).filter(({ letter, record }) => isMeant(letter, record, filter));
  };
  const survey = await look(meant());
  const { sendable, refused } = survey;
  const lines = surveyLines(topic, into, latest, survey);
  const result = (sent: Sent, last: string, isShown: boolean): void => {
    const { letters, records, foreign } = latest;
    const found = { letters, records, foreign, matched: sendable + refused, refusedRounds: refused, refusedAt: survey.refusedAt };
    const value = {
      group: topic.group,
      topic: topic.topic,
      into,
      dryRun: flags.dryRun,
      ...found,
      heaps: survey.heaps.largestFirst(),
      ...sent,
    };
    output.result(value, isShown ? [last] : [...lines, last]);
  };
  if (sendable === 0) {
    result(NOTHING, 'Nothing was sent.', false);
    return latest.letters === 0 ? EXIT.good : EXIT.finding;
  }
  if (flags.dryRun) {
    result(NOTHING, 'Nothing was sent, as asked for by --dry-run.', false);
    return refused > 0 ? EXIT.finding : EXIT.good;
  }
  const ask = flags.yes ? undefined : ports.confirm;
  if (ask !== undefined && !(await ask(`${lines.join('\n')}\nSend them? [y/N] `))) {
    result(NOTHING, 'Nothing was sent.', true);
    return EXIT.finding;
  }
  const beganMs = ports.nowMs();
  const sent = await sendAll(ports, into, sendable, meant());
  const tooLarge = sent.refusedRecords === 0 ? '' : `, ${sent.refusedRecords} refused by Kafka (${printable(sent.refusedWhy)})`;
  // Retention goes on while letters are shown and read.
  const gone = sendable - sent.sent - sent.refusedRecords;
  const lost = gone === 0 ? '' : `, ${gone} gone by retention before they could be read`;
  const done = `${sendable + refused} matched: ${sent.sent} sent into ${into}, ${refused} refused after ${MAX_ROUNDS} rounds${tooLarge}${lost}.`;
  const then = `Once ${TAILRACE} group lag --group ${replayGroupName(topic.group)} shows 0 behind, all were tried, and ${TAILRACE} dlq ls --group ${topic.group} --from ${isoTime(beganMs)} shows those that died again.`;
  result(sent, `${done}\n${then}`, ask !== undefined);
  return refused + sent.refusedRecords + gone > 0 ? EXIT.finding : EXIT.good;
}

function channelOf({ group, source }: DlqTopic): string {
  if (replayable.some(({ name }) => name === group)) return sideTopicName(source, group, 'replay');
  const names = replayable.map(({ name }) => name).join(', ');
  throw new ConfigError([`Group ${group} takes no replays, so its dead letters can not be brought back: those of ${names} can.`]);
}

/** A record goes into the partition of its number: with another count it would be refused in the middle. */
async function requireSamePartitions(admin: DlqAdmin, { topic }: DlqTopic, into: string, extents: readonly DlqExtent[]): Promise<void> {
  const channel = await extentsOf(admin, into);
  if (channel.length === extents.length) return;
  throw new Error(`${topic} has ${extents.length} partitions, and ${into} ${channel.length}: ${TAILRACE} topics plan says what to do.`);
}

function rangesOf({ topic }: DlqTopic, extents: readonly DlqExtent[], { source }: DlqFilter): Parameters<ReadRanges>[0] {
  return extents
    .filter(({ partition }) => (source?.partition ?? partition) === partition)
    .map(({ partition, logStart, logEnd }) => ({ topic, partition, from: logStart, to: logEnd }));
}

async function look(meant: AsyncIterable<readonly Found[]>): Promise<Survey> {
  const heaps = new Heaps();
  const refusedAt: Place[] = [];
  let [sendable, refused] = [0, 0];
  for await (const found of meant) {
    for (const { letter, record } of found) {
      if (letter.replays >= MAX_ROUNDS) {
        refused += 1;
        if (refusedAt.length < MAX_NAMED) refusedAt.push({ partition: record.partition, offset: record.offset });
      } else {
        sendable += 1;
        heaps.add(letter, record);
      }
    }
  }
  return { heaps, sendable, refused, refusedAt };
}

function surveyLines(
  { topic }: DlqTopic,
  into: string,
  { letters, records, foreign }: LatestLetters,
  { heaps, sendable, refused, refusedAt }: Survey,
): string[] {
  const earlier = letters === records ? '' : `, the latest of each of ${records} records`;
  const none = letters === 0 ? 'no dead letters' : `none of ${counted(letters)}${earlier} matches`;
  const named = refusedAt.map(({ partition, offset }) => `${partition}/${offset}`).join(', ');
  const more = refused > refusedAt.length ? ` and ${refused - refusedAt.length} more` : '';
  return [
    sendable + refused === 0 ? `${topic}: ${none}` : `${topic}: ${sendable + refused} of ${counted(letters)}${earlier}, into ${into}`,
    ...(sendable === 0 ? [] : heapLines(heaps.largestFirst(), heaps.others)),
    ...(refused === 0
      ? []
      : [
          `  ${refused} of them refused: brought back ${MAX_ROUNDS} times, and dead again (${named}${more}: ${TAILRACE} dlq show --at shows them)`,
        ]),
    ...(foreign === 0 ? [] : [`  ${foreign} ${foreign === 1 ? 'record is' : 'records are'} none: somebody else wrote there`]),
  ];
}

/** What became of the letters: acknowledged, or refused by Kafka for a fault of their own. */
interface Sent {
  readonly sent: number;
  readonly refusedRecords: number;
  readonly refusedWhy: string;
}

const NOTHING: Sent = { sent: 0, refusedRecords: 0, refusedWhy: '' };

async function sendAll(ports: DlqReplayPorts, into: string, sendable: number, meant: AsyncIterable<readonly Found[]>): Promise<Sent> {
  const publisher = await ports.connect();
  let all = NOTHING;
  let toldMs = ports.nowMs();
  try {
    for await (const found of meant) {
      const records = found.filter(({ letter }) => letter.replays < MAX_ROUNDS).map(({ letter }) => channelRecord(letter, into));
      if (records.length === 0) continue;
      all = await sendSome(publisher, records, all, sendable);
      if (ports.nowMs() - toldMs < TELL_EVERY_MS) continue;
      toldMs = ports.nowMs();
      ports.note(`${all.sent} of ${sendable} sent`);
    }
    return all;
  } finally {
    await publisher.close(CLOSE_MS);
  }
}

/** The record as it stood at first, with the rounds that it will have been through. */
function channelRecord({ origin, replays, key, value, headers }: Found['letter'], topic: string): OutgoingRecord {
  const notes = [['dlq.replays', Buffer.from(String(replays + 1))]] as const;
  return { topic, partition: origin.partition, ...encodeSideRecord({ origin, notes, key, value, headers }) };
}

/** Sends until each is acknowledged or refused. One whose fate is unknown may then be there twice: it is written under the same id. */
async function sendSome(
  publisher: Pick<Publisher, 'publish'>,
  records: readonly OutgoingRecord[],
  before: Sent,
  sendable: number,
): Promise<Sent> {
  let { sent, refusedRecords, refusedWhy } = before;
  let left = records;
  for (let tries = 1; ; tries++) {
    const fates = await publisher.publish(left, { deadlineMs: PUBLISH_MS });
    const again: OutgoingRecord[] = [];
    let why = '';
    for (const [i, record] of left.entries()) {
      const fate = fates[i];
      if (fate?.kind === 'acknowledged') sent += 1;
      else if (fate?.kind === 'refused') {
        refusedRecords += 1;
        refusedWhy = fate.reason;
      } else {
        again.push(record);
        why = fate?.reason ?? 'the publisher gave no answer';
      }
    }
    if (again.length === 0) return { sent, refusedRecords, refusedWhy };
    if (again.length < left.length) tries = 0;
    if (tries === TRIES)
      throw new Error(
        `${sent} of ${sendable} dead letters were sent; then Kafka acknowledged none for ${(TRIES * PUBLISH_MS) / 1000} s (${why}): run this again when it answers, a record that is sent twice is written once.`,
      );
    left = again;
  }
}
