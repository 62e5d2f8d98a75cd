import { partitionForKey } from '@tailrace/events';
import { CellsRecord, readCells } from './cells-codec.ts';
import { MessageError, readList, readText, readTime, readWhole } from './fields.ts';
import type { Cell, LaneMark, Message, RuleId, Silence, Source } from './message.ts';
import { memberOf, readRules, readSources, ruleRow, sourceRow, Table } from './tables.ts';

/** A record of `alert-partials` holds at most so many bytes: many fit into a produce request, and a reader decodes one in a few milliseconds. */
export const MAX_RECORD_BYTES = 512 * 1024;

/** Raised when what a message means changes; readers refuse what they do not know. */
const FORMAT = 1;

/** The partition of `alert-partials` and `alert-state` that decides about a group of a rule. */
export function partitionOf(ruleName: string, group: string, partitions: number): number {
  return partitionForKey(Buffer.from(JSON.stringify([ruleName, group])), partitions);
}

const headOf = (kind: Message['kind']) => `{"format":${FORMAT},"kind":"${kind}"`;

/** Encodes cells of one partition of `alert-partials` into as few records as hold at most `maxBytes` each. A single cell is never split. */
export function encodeCells(cells: readonly Cell[], maxBytes: number = MAX_RECORD_BYTES): Buffer[] {
  const records: Buffer[] = [];
  let record: CellsRecord | undefined;
  for (const cell of cells) {
    if (record?.add(cell, maxBytes)) continue;
    if (record !== undefined) records.push(record.encode());
    record = new CellsRecord(headOf('cells'));
    record.add(cell, maxBytes);
  }
  if (record !== undefined) records.push(record.encode());
  return records;
}

function encodeMarks(rules: readonly RuleId[], marks: readonly LaneMark[]): Buffer {
  const sources = new Table<Source>(sourceRow);
  const rows = marks.map((mark) => [
    sources.placeOf(mark.source),
    mark.watermarkMs,
    mark.fromMs,
    [...mark.ruleFromMs],
    mark.unread ? 1 : 0,
    mark.late,
  ]);
  return Buffer.from(`${headOf('marks')},"rules":[${rules.map(ruleRow)}],"sources":${sources},"marks":${JSON.stringify(rows)}}`);
}

/** One message as one record, whatever its size; many cells go through `encodeCells`. */
export function encodeMessage(message: Message): Buffer {
  if (message.kind === 'marks') return encodeMarks(message.rules, message.marks);
  if (message.kind === 'silence') return Buffer.from(`${headOf('silence')},"silence":${JSON.stringify(message.silence)}}`);
  const record = new CellsRecord(headOf('cells'));
  for (const cell of message.cells) record.add(cell, Number.POSITIVE_INFINITY);
  return record.encode();
}

type Json = Readonly<Record<string, unknown>>;

function readMarks(body: Json): LaneMark[] {
  const sources = readSources(body.sources);
  return readList(body.marks, 'marks').map((row) => {
    const fields = readList(row, 'mark');
    const ruleFrom = readList(fields[3], 'times of rules').map((each): [string, number] => {
      const [name, fromMs] = readList(each, 'time of a rule');
      return [readText(name, 'rule'), readTime(fromMs, 'time of a rule')];
    });
    return {
      source: memberOf(sources, fields[0], 'source'),
      watermarkMs: readTime(fields[1], 'watermark'),
      fromMs: readTime(fields[2], 'from'),
      ruleFromMs: new Map(ruleFrom),
      unread: readWhole(fields[4], 'unread') === 1,
      late: readWhole(fields[5], 'late'),
    };
  });
}

function readSilence(value: unknown): Silence {
  if (typeof value !== 'object' || value === null) throw new MessageError('the silence is no object');
  const { id, rule, group, fromMs, untilMs, comment } = value as Json;
  return {
    id: readText(id, 'id of the silence'),
    ...(rule === undefined ? {} : { rule: readText(rule, 'rule of the silence') }),
    ...(group === undefined ? {} : { group: readText(group, 'group of the silence') }),
    fromMs: readTime(fromMs, 'begin of the silence'),
    untilMs: readTime(untilMs, 'end of the silence'),
    comment: readText(comment, 'comment of the silence'),
  };
}

function parse(value: Uint8Array | null): Json {
  if (value === null) throw new MessageError('it has no value');
  try {
    const body: unknown = JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8'));
    if (typeof body === 'object' && body !== null) return body as Json;
  } catch {
    // Told below: that it is no JSON is all there is to say.
  }
  throw new MessageError('it is no JSON object');
}

/** Reads one record's value. Throws a `MessageError` where it is nothing that `encodeMessage` writes. */
export function decodeMessage(value: Uint8Array | null): Message {
  const body = parse(value);
  if (body.format !== FORMAT) throw new MessageError(`its format is ${JSON.stringify(body.format)}, known is ${FORMAT}`);
  if (body.kind === 'cells') return { kind: 'cells', cells: readCells(body) };
  if (body.kind === 'marks') return { kind: 'marks', rules: readRules(body.rules), marks: readMarks(body) };
  if (body.kind === 'silence') return { kind: 'silence', silence: readSilence(body.silence) };
  throw new MessageError(`its kind is ${JSON.stringify(body.kind)}`);
}
