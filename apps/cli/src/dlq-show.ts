import { isUtf8 } from 'node:buffer';
import { type Coordinates, type DeadLetter, isoTime, type RawRecord, readDeadLetter } from '@tailrace/kafka-kit';
import { printable } from '@tailrace/service';
import type { DlqTopic, Place, Source } from './dlq-options.ts';
import { type DlqAdmin, extentsOf, type ReadRanges } from './dlq-read.ts';
import { EXIT, type Output } from './output.ts';

/** Which dead letter: by its own place, or by that of the record which is dead. */
export type Wanted = { readonly at: Place } | { readonly source: Required<Source> };

interface Found {
  readonly record: RawRecord;
  readonly letter: DeadLetter;
}

/** Prints one dead letter whole: all that is known of it, and its bytes as text or base64. */
export async function showCommand(admin: DlqAdmin, read: ReadRanges, topic: DlqTopic, wanted: Wanted, output: Output): Promise<number> {
  const found = 'at' in wanted ? await findAt(admin, read, topic, wanted.at) : await findBySource(admin, read, topic, wanted.source);
  const newest = found.at(-1);
  if (newest === undefined) throw new Error('nothing was found, and nothing was said');
  const others = found.slice(0, -1).map(({ record: { partition, offset } }) => ({ partition, offset }));
  output.result(asObject(topic, newest, others), asLines(topic, newest, others));
  return EXIT.good;
}

async function findAt(admin: DlqAdmin, read: ReadRanges, { topic }: DlqTopic, { partition, offset }: Place): Promise<Found[]> {
  const extent = (await extentsOf(admin, topic)).find((each) => each.partition === partition);
  if (extent === undefined) throw new Error(`${topic} has no partition ${partition}.`);
  const { logStart, logEnd } = extent;
  if (offset < logStart)
    throw new Error(
      `The dead letter ${partition}/${offset} of ${topic} is lost: by its retention the partition begins at offset ${logStart}.`,
    );
  if (offset >= logEnd)
    throw new Error(
      `There is no dead letter ${partition}/${offset} in ${topic}: the partition ${logEnd === logStart ? 'is empty' : `ends before offset ${logEnd}`}.`,
    );
  for await (const [record] of read([{ topic, partition, from: offset, to: offset + 1 }])) {
    if (record === undefined) continue;
    const letter = readDeadLetter(record);
    if (letter === undefined)
      throw new Error(`The record ${partition}/${offset} of ${topic} is no dead letter of ours: somebody else wrote it.`);
    return [{ record, letter }];
  }
  throw new Error(`There is no record at ${partition}/${offset} of ${topic}.`);
}

async function findBySource(admin: DlqAdmin, read: ReadRanges, { topic }: DlqTopic, source: Required<Source>): Promise<Found[]> {
  const extent = (await extentsOf(admin, topic)).find((each) => each.partition === source.partition);
  const found: Found[] = [];
  const ranges = extent === undefined ? [] : [{ topic, partition: extent.partition, from: extent.logStart, to: extent.logEnd }];
  for await (const records of read(ranges)) {
    for (const record of records) {
      const letter = readDeadLetter(record);
      const origin = letter?.origin;
      if (
        letter !== undefined &&
        origin?.topic === source.topic &&
        origin.partition === source.partition &&
        origin.offset === source.offset
      )
        found.push({ record, letter });
    }
  }
  if (found.length === 0) {
    const lost = (extent?.logStart ?? 0) > 0 ? `; ${extent?.logStart} older ones of this partition are lost by its retention` : '';
    throw new Error(`${topic} holds no dead letter of ${source.topic}/${source.partition}/${source.offset}${lost}.`);
  }
  return found;
}

function asObject({ topic }: DlqTopic, { record, letter }: Found, others: readonly Place[]) {
  const { partition, offset, timestampMs } = record;
  const { key, value, headers, failedAtMs, ...known } = letter;
  return {
    topic,
    partition,
    offset,
    timestamp: isoTime(timestampMs),
    ...known,
    failedAt: isoTime(failedAtMs),
    key: exact(key),
    value: exact(value),
    headers: headers.map(([name, bytes]) => [name, exact(bytes)]),
    others,
  };
}

function asLines({ topic }: DlqTopic, { record, letter }: Found, others: readonly Place[]): string[] {
  const { origin, via, headers, key, value } = letter;
  const row = (name: string, text: string): string => `  ${name.padEnd(10)}${text}`;
  const same = origin.topic === via.topic && origin.partition === via.partition && origin.offset === via.offset;
  return [
    `dead letter ${record.partition}/${record.offset} of ${topic}, written ${isoTime(record.timestampMs)}`,
    row('reason', printable(letter.reason)),
    row('detail', letter.detail === '' ? '(none)' : printable(letter.detail)),
    row('source', placed(origin)),
    ...(same ? [] : [row('via', placed(via))]),
    row('group', printable(letter.group)),
    row('attempts', `${letter.attempts}, brought back ${letter.replays} times`),
    row('failed', isoTime(letter.failedAtMs)),
    ...headers.map(([name, bytes], i) => row(i === 0 ? 'headers' : '', `${printable(name)}: ${inOneLine(bytes)}`)),
    row('key', inOneLine(key)),
    ...valueLines(value),
    ...(others.length === 0
      ? []
      : [
          row(
            'also',
            `${others
              .slice(-10)
              .map((each) => `${each.partition}/${each.offset}`)
              .join(', ')}${others.length > 10 ? ` and ${others.length - 10} more` : ''}: dead letters of the same record`,
          ),
        ]),
  ];
}

function valueLines(value: Buffer | null): string[] {
  if (value === null) return ['  value     none (a tombstone)'];
  const head = `  value     ${value.length} bytes`;
  if (value.length === 0) return [head];
  const text = shownText(value);
  return text === undefined ? [`${head}, in base64:`, value.toString('base64')] : [`${head}:`, text];
}

function inOneLine(bytes: Buffer | null): string {
  if (bytes === null) return '(null)';
  const text = shownText(bytes);
  return text === undefined || text.includes('\n') ? `(base64) ${bytes.toString('base64')}` : text;
}

/** Bytes as text where a terminal shows them as they are; undefined where not. */
function shownText(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  return text.split(/[\n\t]/).every((line) => printable(line) === line) ? text : undefined;
}

function exact(bytes: Buffer | null): { readonly text: string } | { readonly base64: string } | null {
  if (bytes === null) return null;
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') };
}

function placed({ topic, incarnation, partition, offset, timestampMs }: Coordinates): string {
  const time = timestampMs === -1 ? 'without a time' : isoTime(timestampMs);
  return `${printable(topic)}/${partition}/${offset} (${time}, topic id ${printable(incarnation)})`;
}
