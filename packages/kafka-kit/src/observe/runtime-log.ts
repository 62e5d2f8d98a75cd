import type { TopicPartition } from '../records.ts';
import type { GapDone } from '../recover/gap-policy.ts';
import { isoTime } from '../time/iso-time.ts';
import type { RuntimeEvent } from './runtime-events.ts';

/** One line of a log. A fault stands in `err`, where pino's serializer looks for it. */
export interface RuntimeLogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What pino and its like have. */
export type RuntimeLogger = { readonly [level in RuntimeLogLine['level']]: (fields: object, message: string) => void };

/** By syslog's severities, 0 the gravest. */
const LEVELS: readonly RuntimeLogLine['level'][] = ['error', 'error', 'error', 'error', 'warn', 'info', 'info', 'debug'];

/** Sinks name reasons; one that makes them up from data must not fill the memory. */
const MAX_REASONS = 50;

/** What to give a runtime as `observe`, alone or beside the metrics: writes what people want to read, and leaves the rest to the metrics. */
export function runtimeLog(logger: RuntimeLogger): (event: RuntimeEvent) => void {
  let last = '';
  let times = 0;
  const buried = new Map<string, number>();
  return (event) => {
    const line = runtimeLogLine(event);
    if (line === undefined) return;
    if (event.kind === 'broker-error' || event.kind === 'positions' || (event.kind === 'commit' && event.result.kind === 'failed')) {
      // While a cluster is away every poll may fail, 20 times a second, and every commit once a second.
      times = line.message === last ? times + 1 : 1;
      last = line.message;
      if (!isPowerOfTwo(times)) return;
    }
    if (event.kind === 'dead-lettered') {
      // A bad service may have a batch of them several times a second: told when the sum of its reason doubles.
      const reason = buried.has(event.reason) || buried.size < MAX_REASONS ? event.reason : 'other';
      const before = buried.get(reason) ?? 0;
      buried.set(reason, before + event.records);
      if (before > 0 && Math.floor(Math.log2(before)) === Math.floor(Math.log2(before + event.records))) return;
    }
    logger[line.level](line.fields, line.message);
  };
}

/** The event as a line; undefined for what happens at every turn of the loop, which only the metrics count. */
export function runtimeLogLine(event: RuntimeEvent): RuntimeLogLine | undefined {
  switch (event.kind) {
    case 'polled':
    case 'handed-over':
    case 'settled':
    case 'restored':
      return undefined;
    case 'skipped':
      return line('debug', `${event.records} ${records(event.records)} skipped: ${event.reason}`, { ...event.lane, reason: event.reason });
    case 'dead-lettered': {
      const { lane, reason, records: count } = event;
      return line('warn', `${count} ${records(count)} of ${name(lane)} went to the dead letters: ${reason}`, {
        ...lane,
        reason,
        records: count,
      });
    }
    case 'unsendable': {
      const { lane, offset, reason, why } = event;
      const message = `the record at ${name(lane)}, offset ${offset} is dead (${reason}), and was stored apart since its dead letter was refused: ${why}`;
      return line('error', message, { ...lane, offset, reason, why });
    }
    case 'rebalanced':
      return rebalanced(event);
    case 'drained':
      return drained(event);
    case 'lane-opened':
      return line('info', `reads ${name(event.lane)} from offset ${event.startAt}`, { ...event.lane, startAt: event.startAt });
    case 'lane-halted':
      return line('error', `stands still: ${event.why.sentence}`, { ...event.lane, why: event.why.kind });
    case 'lane-reopened': {
      const { abandonedRecords, cause, lane } = event;
      return line('warn', `${name(lane)} is read again from its first record that is not settled`, {
        ...lane,
        abandonedRecords,
        err: cause,
      });
    }
    case 'gap':
      return gap(event);
    case 'restore-passed':
    case 'restore-waits':
    case 'restore-ended':
      return restore(event);
    case 'outage':
      return outage(event);
    case 'stalled': {
      const { lane, position, end, sinceMs, attempts } = event;
      const since = isoTime(sinceMs);
      const what = `${name(lane)} got nothing from offset ${position} on since ${since}, and the log ends at ${end}`;
      return line('warn', `${what}: it is read again from there (attempt ${attempts})`, { ...lane, position, end, since, attempts });
    }
    case 'recovered':
      return line('info', `${name(event.lane)} goes on after ${seconds(event.afterMs)}`, { ...event.lane, afterMs: event.afterMs });
    case 'commit':
      if (event.result.kind === 'committed') return line('debug', 'committed', { positions: event.result.positions });
      return line('warn', `a commit was refused: ${event.result.reason}`, { positions: event.result.positions });
    case 'positions':
      return positions(event);
    case 'flush-failed':
      return line('warn', 'the sink could not flush: what it holds is read again by the next owner', { err: event.cause });
    case 'broker-error':
      return line('warn', `the Kafka client reports: ${text(event.cause)}`, { err: event.cause });
    case 'client-log':
      return line(LEVELS[event.line.severity] ?? 'info', event.line.message, { from: 'kafka-client', facility: event.line.facility });
  }
}

/** What is written once a minute is no news, and a reading says of every record again that it is unreadable. */
function positions({ outcome, count, cause }: Extract<RuntimeEvent, { kind: 'positions' }>): RuntimeLogLine | undefined {
  if (outcome === 'written') return undefined;
  if (outcome === 'unreadable')
    return line(
      'warn',
      `${count} ${records(count)} among the kept positions can not be read, and ${count === 1 ? 'was' : 'were'} passed`,
      {},
    );
  return line('warn', text(cause), { err: cause });
}

function rebalanced({ how, partitions }: Extract<RuntimeEvent, { kind: 'rebalanced' }>): RuntimeLogLine {
  const message = partitions.length === 0 ? `partitions ${how}: none` : `partitions ${how}: ${partitions.map(name).join('; ')}`;
  return line(how === 'lost' ? 'warn' : 'info', message, { how, count: partitions.length });
}

function drained({ kind: _, ...fields }: Extract<RuntimeEvent, { kind: 'drained' }>): RuntimeLogLine {
  const { why, tookMs, abandonedRecords, stuck } = fields;
  const left = abandonedRecords === 0 ? 'all settled' : `${abandonedRecords} ${records(abandonedRecords)} left for the next owner`;
  const message = `drained before a ${why} in ${seconds(tookMs)}: ${left}`;
  if (stuck.length === 0) return line('info', message, fields);
  const named = stuck.map((lane) => `${name(lane)} (${lane.reason})`).join('; ');
  return line('warn', `${message}; the sink did not end in time for ${named}`, fields);
}

/** What became of a gap, in words; a halt has a line of its own that names the way out. */
const DONE: Readonly<Record<Exclude<GapDone, 'void'>, string>> = {
  halted: '',
  skipped: ': passed over, as the group is told to',
  recorded: ': written down by the sink, and on',
  restored: ': they are read from the history',
  fresh: ': passed over, with what is too old to matter, and on',
};

function gap({ lane, gap: { kind, from, to }, done }: Extract<RuntimeEvent, { kind: 'gap' }>): RuntimeLogLine {
  const where = from < to ? `${name(lane)}, offsets ${from} to ${to - 1}` : `${name(lane)}, from offset ${from} on`;
  // On a compacted topic, and behind every transaction, holes are ordinary.
  if (done === 'void') return line('debug', `nothing was ever readable at ${where}`, { ...lane, gap: kind, from, to });
  return line(done === 'restored' ? 'warn' : 'error', `records are missing (${kind}) at ${where}${DONE[done]}`, {
    ...lane,
    gap: kind,
    from,
    to,
    done,
  });
}

type Restore = Extract<RuntimeEvent, { kind: 'restore-passed' | 'restore-waits' | 'restore-ended' }>;

function restore({ lane, ...event }: Restore): RuntimeLogLine {
  const { kind: _, ...fields } = { ...lane, ...event };
  const where = `${name(lane)}, offsets ${event.from} to ${event.to - 1}`;
  switch (event.kind) {
    case 'restore-waits':
      return line('warn', `waits for ${where}: Kafka no longer holds them, and the history does not have them yet`, fields);
    case 'restore-passed':
      if (event.why === 'lost')
        return line('error', `records are gone for good at ${where}: the history declares them lost, and they were passed`, fields);
      return line('warn', `${where} are from before the history: they were passed`, fields);
    case 'restore-ended': {
      const { records: count, passedOffsets, tookMs, to } = event;
      const passed = passedOffsets === 0 ? '' : `, ${passedOffsets} offsets passed`;
      const done = `${count} ${records(count)} restored in ${seconds(tookMs)}${passed}`;
      return line('info', `reads ${name(lane)} from Kafka again, from offset ${to} on: ${done}`, fields);
    }
  }
}

/** An outage may last for hours on many partitions: its 1st, 2nd, 4th, 8th … attempt is told. */
function outage({ lane, attempts, cause }: Extract<RuntimeEvent, { kind: 'outage' }>): RuntimeLogLine | undefined {
  if (!isPowerOfTwo(attempts)) return undefined;
  return line('warn', `${name(lane)} waits and tries again (attempt ${attempts}): ${text(cause)}`, { ...lane, attempts, err: cause });
}

function isPowerOfTwo(count: number): boolean {
  return Number.isInteger(Math.log2(count));
}

function line(level: RuntimeLogLine['level'], message: string, fields: RuntimeLogLine['fields']): RuntimeLogLine {
  return { level, message, fields };
}

function name({ topic, partition }: TopicPartition): string {
  return `${topic}, partition ${partition}`;
}

function records(count: number): string {
  return count === 1 ? 'record' : 'records';
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
