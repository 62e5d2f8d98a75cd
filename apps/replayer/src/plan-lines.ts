import { TAILRACE } from '@tailrace/kafka-kit';
import { bothTimes, chainText, type OffsetRange, type PlannedPartition, type PlanWindow, type ReplayPlan, span } from '@tailrace/lake';
import { counted, missingLine, offsets, total } from './offsets.ts';

const MIB = 1024 * 1024;

/** What of a planned partition the lake and Kafka hold now. */
export interface HeldNow {
  readonly lake: readonly OffsetRange[];
  readonly kafka: readonly OffsetRange[];
}

/** A plan as lines for people. `now` says what holds the partition's ranges at this moment: the plan itself names no source. */
export function planLines(plan: ReplayPlan, now: (partition: PlannedPartition) => HeldNow): string[] {
  return [
    windowLine(plan),
    ...choiceLines(plan),
    ...plan.partitions.flatMap((each) => partitionLines(each, now(each))),
    sumLine(plan.partitions),
  ];
}

function windowLine({ window, into, stream }: ReplayPlan): string {
  const length = span(window.toMs - window.fromMs);
  return `${stream} from ${bothTimes(window.fromMs)} up to ${bothTimes(window.toMs)}, ${length}, by ${clockWords(window)}, into ${into}.`;
}

function choiceLines({ where = [], keepDays }: ReplayPlan): string[] {
  return [
    ...where.map((text) => `  only where ${text}`),
    ...(where.length === 0
      ? []
      : [`  (which of the records that are, only reading tells: ${TAILRACE} replay run NUMBER --dry-run counts them)`]),
    ...(keepDays === undefined ? [] : [`  to be kept for ${counted(keepDays, 'day')} from when it is applied`]),
  ];
}

function clockWords({ by, skewMs }: PlanWindow): string {
  return by === 'broker' ? 'the time of arrival' : `the event's own time (it may be ${span(skewMs)} off the time of arrival)`;
}

function partitionLines(each: PlannedPartition, { lake, kafka }: HeldNow): string[] {
  const read =
    each.ranges.length === 0
      ? 'nothing to read'
      : `${listed(each.ranges)}: ${counted(total(each.ranges), 'offset')}, at most ${counted(each.records, 'record')}`;
  const size = each.lakeBytes === 0 ? '' : ` (${mib(each.lakeBytes)})`;
  return [
    `${chainText(each)}: ${read}`,
    ...(each.ranges.length === 0
      ? []
      : [`  now in the lake: ${lake.length === 0 ? 'none' : `${listed(lake)}${size}`}; in Kafka: ${listed(kafka)}`]),
    ...each.clockSteps.map(
      ({ offset, backMs }) => `  CLOCK STEP: by offset ${offset} the brokers' clock had gone back by at least ${span(backMs)}`,
    ),
    ...each.missing.map((missing) => `  ${missingLine(missing)}`),
  ];
}

function listed(ranges: readonly OffsetRange[]): string {
  return ranges.length === 0 ? 'none' : ranges.map(offsets).join(', ');
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}

function sumLine(partitions: readonly PlannedPartition[]): string {
  const sum = (of: (each: PlannedPartition) => number): number => partitions.reduce((all, each) => all + of(each), 0);
  const read = partitions.filter(({ ranges }) => ranges.length > 0);
  const bytes = sum(({ lakeBytes }) => lakeBytes);
  const size = bytes === 0 ? '' : `, ${mib(bytes)} of objects`;
  const head = `${counted(
    sum(({ ranges }) => total(ranges)),
    'offset',
  )} of ${counted(read.length, 'partition')}, at most ${counted(
    sum(({ records }) => records),
    'record',
  )}${size}`;
  return `In all ${head}: these hold every record of the window, and some of shortly before and after it, which are left out by their time.`;
}
