import type { OffsetAt, PartitionLag } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import type { ResetTarget } from './reset-target.ts';

/** What a reset does to one partition. */
export interface ResetStep {
  readonly topic: string;
  readonly partition: number;
  /** The commit that stands; null where there is none. */
  readonly from: number | null;
  readonly to: number;
  /** Offsets that were read and would be read again. */
  readonly again: number;
  /** Offsets in Kafka that would not be read. */
  readonly passedOver: number;
  /** Offsets on the way that Kafka no longer holds: lost to the group whatever is done. */
  readonly gone: number;
}

/** The group as a reset has to know it. */
export interface ResetGroup {
  /** Where it begins without a commit. */
  readonly start: 'earliest' | 'latest';
  /** Whether it gets from the lake what Kafka no longer holds: then it may be set there. */
  readonly restores: boolean;
}

/** Finds where each partition goes, and what that means. `at`: where the time lies that `target` names. Throws ConfigError for an offset outside of the log. */
export function planReset(
  positions: readonly PartitionLag[],
  target: ResetTarget,
  group: ResetGroup,
  at: readonly OffsetAt[] = [],
): ResetStep[] {
  return positions.map((position) => step(position, aim(position, target, group, at), group.start));
}

function aim(position: PartitionLag, target: ResetTarget, { restores }: ResetGroup, at: readonly OffsetAt[]): number {
  const { topic, partition, logStart, logEnd } = position;
  switch (target.kind) {
    case 'earliest':
      return logStart;
    case 'latest':
      return logEnd;
    case 'time':
      // Nothing so young: what comes next is the first.
      return at.find((each) => each.topic === topic && each.partition === partition)?.offset ?? logEnd;
    case 'offset':
      if ((target.offset >= logStart || restores) && target.offset <= logEnd) return target.offset;
      throw new ConfigError([
        `--to offset:${target.offset} is not in the log of ${topic}, partition ${partition}: it holds offsets from ${logStart} on, and ${logEnd} is the next.`,
      ]);
  }
}

function step({ topic, partition, committed, logStart, logEnd }: PartitionLag, to: number, start: 'earliest' | 'latest'): ResetStep {
  // Where the group would go on by itself.
  const base = committed ?? (start === 'earliest' ? logStart : logEnd);
  return {
    topic,
    partition,
    from: committed,
    to,
    again: committed === null ? 0 : Math.max(0, Math.min(base, logEnd) - to),
    passedOver: Math.max(0, to - Math.max(base, logStart)),
    gone: Math.max(0, Math.min(to, logStart) - base),
  };
}

/** The plan for people: what it means in all, and then each partition that moves. */
export function resetLines(group: string, target: ResetTarget, steps: readonly ResetStep[]): string[] {
  const moved = steps.filter(({ from, to }) => from !== to);
  const sum = (of: 'again' | 'passedOver' | 'gone'): number => steps.reduce((total, each) => total + each[of], 0);
  const stay = steps.length - moved.length;
  const rest = stay === 0 ? '' : `, ${stay} ${stay === 1 ? 'stands' : 'stand'} there already`;
  return [
    `${group}, to ${targetText(target)}: ${moved.length} of ${steps.length} ${steps.length === 1 ? 'partition moves' : 'partitions move'}${rest}; ${meaning(sum('again'), sum('passedOver'), sum('gone'))}.`,
    ...moved.map(
      ({ topic, partition, from, to, again, passedOver, gone }) =>
        `  ${topic}, partition ${partition}: from ${from ?? 'no commit'} to ${to}; ${meaning(again, passedOver, gone)}`,
    ),
  ];
}

function targetText(target: ResetTarget): string {
  if (target.kind === 'time') return target.text;
  return target.kind === 'offset' ? `offset ${target.offset}` : target.kind;
}

function meaning(again: number, passedOver: number, gone: number): string {
  const parts = [
    again > 0 ? `${count(again)} read again` : '',
    passedOver > 0 ? `${count(passedOver)} passed over` : '',
    gone > 0 ? `${count(gone)} that Kafka no longer holds` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'nothing is read again or passed over' : parts.join(', ');
}

function count(records: number): string {
  return `${records.toLocaleString('en')} ${records === 1 ? 'record' : 'records'}`;
}
