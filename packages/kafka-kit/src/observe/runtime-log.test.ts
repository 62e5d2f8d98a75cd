import { expect, it } from 'vitest';
import type { RuntimeEvent } from './runtime-events.ts';
import { type RuntimeLogger, runtimeLog, runtimeLogLine } from './runtime-log.ts';

const lane = { topic: 'events', partition: 3 };
const cause = new Error('away');

it.each<[RuntimeEvent, string | undefined]>([
  [{ kind: 'polled', records: 1, sinceLastPollMs: 2 }, undefined],
  [{ kind: 'handed-over', lane, records: 1, closedBy: 'age' }, undefined],
  [{ kind: 'settled', lane, stored: 1, skipped: 0, retried: 0, dead: 0 }, undefined],
  [{ kind: 'skipped', lane, reason: 'old', records: 1 }, 'debug: 1 record skipped: old'],
  [{ kind: 'rebalanced', how: 'assigned', partitions: [lane] }, 'info: partitions assigned: events, partition 3'],
  [{ kind: 'rebalanced', how: 'lost', partitions: [] }, 'warn: partitions lost: none'],
  [{ kind: 'drained', why: 'revoke', tookMs: 1234, abandonedRecords: 0, stuck: [] }, 'info: drained before a revoke in 1.2 s: all settled'],
  [
    { kind: 'drained', why: 'stop', tookMs: 0, abandonedRecords: 2, stuck: [] },
    'info: drained before a stop in 0.0 s: 2 records left for the next owner',
  ],
  [
    { kind: 'drained', why: 'stop', tookMs: 6000, abandonedRecords: 2, stuck: [{ ...lane, reason: '2 records from offset 7 on; away' }] },
    'warn: drained before a stop in 6.0 s: 2 records left for the next owner; the sink did not end in time for events, partition 3 (2 records from offset 7 on; away)',
  ],
  [
    { kind: 'gap', lane, gap: { kind: 'expired', from: 2, to: 9 }, done: 'restored' },
    'warn: records are missing (expired) at events, partition 3, offsets 2 to 8: they are read from the history',
  ],
  [{ kind: 'restored', lane, records: 7 }, undefined],
  [
    { kind: 'restore-passed', lane, why: 'lost', from: 2, to: 9 },
    'error: records are gone for good at events, partition 3, offsets 2 to 8: the history declares them lost, and they were passed',
  ],
  [
    { kind: 'restore-passed', lane, why: 'before-archive', from: 2, to: 9 },
    'warn: events, partition 3, offsets 2 to 8 are from before the history: they were passed',
  ],
  [
    { kind: 'restore-waits', lane, from: 2, to: 9 },
    'warn: waits for events, partition 3, offsets 2 to 8: Kafka no longer holds them, and the history does not have them yet',
  ],
  [
    { kind: 'restore-ended', lane, from: 2, to: 9, records: 5, passedOffsets: 2, tookMs: 1500 },
    'info: reads events, partition 3 from Kafka again, from offset 9 on: 5 records restored in 1.5 s, 2 offsets passed',
  ],
  [{ kind: 'lane-opened', lane, startAt: 7 }, 'info: reads events, partition 3 from offset 7'],
  [
    { kind: 'dead-lettered', lane, reason: 'not-json', records: 2 },
    'warn: 2 records of events, partition 3 went to the dead letters: not-json',
  ],
  [
    { kind: 'unsendable', lane, offset: 7, reason: 'not-json', why: 'too large' },
    'error: the record at events, partition 3, offset 7 is dead (not-json), and was stored apart since its dead letter was refused: too large',
  ],
  [{ kind: 'lane-halted', lane, why: { kind: 'dead', offset: 1, reason: 'r', sentence: 'It is bad.' } }, 'error: stands still: It is bad.'],
  [
    { kind: 'lane-reopened', lane, cause, abandonedRecords: 1 },
    'warn: events, partition 3 is read again from its first record that is not settled',
  ],
  [
    { kind: 'gap', lane, gap: { kind: 'void', from: 1, to: 3 }, done: 'void' },
    'debug: nothing was ever readable at events, partition 3, offsets 1 to 2',
  ],
  [
    { kind: 'gap', lane, gap: { kind: 'expired', from: 1, to: 3 }, done: 'recorded' },
    'error: records are missing (expired) at events, partition 3, offsets 1 to 2: written down by the sink, and on',
  ],
  [
    { kind: 'gap', lane, gap: { kind: 'recreated', from: 5, to: 5 }, done: 'halted' },
    'error: records are missing (recreated) at events, partition 3, from offset 5 on',
  ],
  [{ kind: 'outage', lane, attempts: 1, cause }, 'warn: events, partition 3 waits and tries again (attempt 1): away'],
  [{ kind: 'outage', lane, attempts: 3, cause }, undefined],
  [{ kind: 'outage', lane, attempts: 64, cause }, 'warn: events, partition 3 waits and tries again (attempt 64): away'],
  [
    { kind: 'stalled', lane, position: 7, end: 30, sinceMs: 0, attempts: 2 },
    'warn: events, partition 3 got nothing from offset 7 on since 1970-01-01T00:00:00.000Z, and the log ends at 30: it is read again from there (attempt 2)',
  ],
  [{ kind: 'recovered', lane, afterMs: 61_000 }, 'info: events, partition 3 goes on after 61.0 s'],
  [{ kind: 'commit', result: { kind: 'committed', positions: [] } }, 'debug: committed'],
  [{ kind: 'commit', result: { kind: 'failed', positions: [], reason: 'fenced' } }, 'warn: a commit was refused: fenced'],
  [{ kind: 'flush-failed', cause }, 'warn: the sink could not flush: what it holds is read again by the next owner'],
  [{ kind: 'positions', outcome: 'written', count: 3, cause: undefined }, undefined],
  [{ kind: 'positions', outcome: 'not-written', count: 3, cause }, 'warn: away'],
  [
    { kind: 'positions', outcome: 'unreadable', count: 2, cause: undefined },
    'warn: 2 records among the kept positions can not be read, and were passed',
  ],
  [{ kind: 'broker-error', cause: 'text' }, 'warn: the Kafka client reports: text'],
  [{ kind: 'client-log', line: { severity: 3, facility: 'FAIL', message: 'no route' } }, 'error: no route'],
  [{ kind: 'client-log', line: { severity: 7, facility: 'X', message: 'm' } }, 'debug: m'],
])('%j', (event, wanted) => {
  const line = runtimeLogLine(event);
  expect(line === undefined ? undefined : `${line.level}: ${line.message}`).toBe(wanted);
});

it('faults stand where pino looks for them, and the client’s lines keep their facility', () => {
  expect(runtimeLogLine({ kind: 'outage', lane, attempts: 1, cause })?.fields).toEqual({ ...lane, attempts: 1, err: cause });
  expect(runtimeLogLine({ kind: 'client-log', line: { severity: 4, facility: 'FAIL', message: 'm' } })?.fields).toEqual({
    from: 'kafka-client',
    facility: 'FAIL',
  });
});

it('writes to the logger’s methods, and the same fault of the client again and again as its 1st, 2nd, 4th … time', () => {
  const lines: string[] = [];
  const write = (level: string) => (_: object, message: string) => void lines.push(`${level} ${message}`);
  const logger: RuntimeLogger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const observe = runtimeLog(logger);
  observe({ kind: 'lane-opened', lane, startAt: 0 });
  for (let i = 0; i < 100; i += 1) observe({ kind: 'broker-error', cause: new Error('all brokers are down') });
  observe({ kind: 'broker-error', cause: new Error('another') });
  observe({ kind: 'broker-error', cause: new Error('all brokers are down') });
  expect(lines).toEqual([
    'info reads events, partition 3 from offset 0',
    ...Array.from({ length: 7 }, () => 'warn the Kafka client reports: all brokers are down'),
    'warn the Kafka client reports: another',
    'warn the Kafka client reports: all brokers are down',
  ]);
});

it('dead letters are told when the sum of their reason doubles: a bad service must not fill the log', () => {
  const lines: string[] = [];
  const write = (_: object, message: string) => void lines.push(message);
  const observe = runtimeLog({ debug: write, info: write, warn: write, error: write });
  for (let i = 0; i < 1000; i += 1) observe({ kind: 'dead-lettered', lane, reason: 'not-json', records: 3 });
  observe({ kind: 'dead-lettered', lane, reason: 'not-utf8', records: 1 });
  expect(lines).toHaveLength(12);
  expect(lines.at(-1)).toBe('1 record of events, partition 3 went to the dead letters: not-utf8');
  // Nor may reasons that a sink makes up from data.
  for (let i = 0; i < 10_000; i += 1) observe({ kind: 'dead-lettered', lane, reason: `reason ${i}`, records: 1 });
  expect(lines.length).toBeLessThan(80);
});
