import { groups, parseInstant, SERVICE_EVENTS_TOPIC, sideTopicName, streams } from '@tailrace/events';
import type { DeadLetter, RawRecord } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import { InvalidArgumentError } from 'commander';

/** Where records came from: a topic, one of its partitions, or one record. */
export interface Source {
  readonly topic: string;
  readonly partition?: number;
  readonly offset?: number;
}

/** One record of a dead-letter topic. */
export interface Place {
  readonly partition: number;
  readonly offset: number;
}

/** Which dead letters are meant. Times are of the broker, when the dead letter was written. */
export interface DlqFilter {
  readonly reason?: string;
  readonly source?: Source;
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** A group's dead-letter topic. */
export interface DlqTopic {
  readonly group: string;
  readonly source: string;
  readonly topic: string;
}

const SOURCE = /^([A-Za-z0-9._-]{1,249})(?:\/(\d{1,9})(?:\/(\d{1,15}))?)?$/;
const AT = /^(\d{1,9})\/(\d{1,15})$/;

export function parseSource(text: string): Source {
  const [, topic, partition, offset] = SOURCE.exec(text) ?? [];
  if (topic === undefined) throw new InvalidArgumentError('Give a topic, topic/partition or topic/partition/offset.');
  return {
    topic,
    ...(partition === undefined ? {} : { partition: Number(partition) }),
    ...(offset === undefined ? {} : { offset: Number(offset) }),
  };
}

export function parseRecordSource(text: string): Required<Source> {
  const { topic, partition, offset } = parseSource(text);
  if (partition === undefined || offset === undefined)
    throw new InvalidArgumentError('Give topic/partition/offset of the record that is dead.');
  return { topic, partition, offset };
}

export function parsePlace(text: string): Place {
  const [, partition, offset] = AT.exec(text) ?? [];
  if (partition === undefined) throw new InvalidArgumentError('Give partition/offset of the dead letter, as dlq ls shows it.');
  return { partition: Number(partition), offset: Number(offset) };
}

export function parseTime(text: string): number {
  const instant = parseInstant(text);
  if (instant === undefined) throw new InvalidArgumentError('Give a time with its zone, like 2026-03-01T09:00:00Z.');
  return instant.epochMs;
}

/** The dead-letter topics of a group, or of every group that this release runs. Throws ConfigError for a group that has none. */
export function dlqTopics(group: string | undefined): DlqTopic[] {
  const running = groups.filter(({ state, sideTopics }) => state === 'active' && sideTopics.some((kind) => kind === 'dlq'));
  const named = group === undefined ? running : running.filter(({ name }) => name === group);
  if (named.length === 0) {
    const names = running.map(({ name }) => name).join(', ');
    throw new ConfigError([`No group ${group} of this release has dead letters: name one of ${names}.`]);
  }
  return named.flatMap(({ name }) =>
    (streams[SERVICE_EVENTS_TOPIC] ?? []).map((source) => ({ group: name, source, topic: sideTopicName(source, name, 'dlq') })),
  );
}

/** Whether a filter means this dead letter. */
export function isMeant(letter: DeadLetter, { timestampMs }: RawRecord, { reason, source, fromMs, toMs }: DlqFilter): boolean {
  if (reason !== undefined && letter.reason !== reason) return false;
  if (fromMs !== undefined && timestampMs < fromMs) return false;
  if (toMs !== undefined && timestampMs >= toMs) return false;
  const { origin } = letter;
  return (
    source === undefined ||
    (source.topic === origin.topic &&
      (source.partition ?? origin.partition) === origin.partition &&
      (source.offset ?? origin.offset) === origin.offset)
  );
}
