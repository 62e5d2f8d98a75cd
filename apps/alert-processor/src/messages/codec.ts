import { partitionForKey } from '@tailrace/events';
import type { Partial } from '../measures/partial.ts';
import { MessageError, readList, readNumber, readText, readWhole } from './fields.ts';
import type { Cell, LaneMark, Message, RuleId, Silence, Source } from './message.ts';
import { readPartial } from './read-partial.ts';

/** A record of `alert-partials` holds at most so many bytes: many fit into a produce request, and a reader decodes one in a few milliseconds. */
export const MAX_RECORD_BYTES = 512 * 1024;

/** Raised when what a message means changes; readers refuse what they do not know. */
const FORMAT = 1;

/** The partition of `alert-partials` and `alert-state` that decides about a group of a rule. */
export function partitionOf(ruleName: string, group: string, partitions: number): number {
  return partitionForKey(Buffer.from(JSON.stringify([ruleName, group])), partitions);
}

/** A list in which cells name each of its members by index: a record says every rule and source once. */
class Table<T> {
  private readonly indices = new Map<T, number>();
  private readonly byText = new Map<string, number>();
  readonly rows: string[] = [];

  constructor(private readonly rowOf: (member: T) => string) {}

  /** By how many bytes the table would grow. */
  growth(member: T): number {
    if (this.indices.has(member)) return 0;
    const row = this.rowOf(member);
    return this.byText.has(row) ? 0 : Buffer.byteLength(row) + 1;
  }

  indexOf(member: T): number {
    const known = this.indices.get(member);
    if (known !== undefined) return known;
    const row = this.rowOf(member);
    const index = this.byText.get(row) ?? this.rows.length;
    if (index === this.rows.length) {
      this.rows.push(row);
      this.byText.set(row, index);
    }
    this.indices.set(member, index);
    return index;
  }

  toString(): string {
    return `[${this.rows.join(',')}]`;
  }
}

const ruleTable = () => new Table<RuleId>((rule) => JSON.stringify([rule.name, rule.version]));
const sourceTable = () => new Table<Source>((source) => JSON.stringify([source.topic, source.incarnation, source.partition]));

/** JSON has no infinities: a sum that ran over is told as the greatest number there is. */
function partialText(partial: Partial): string {
  if (partial[0] === 'count') return `["count",${partial[1]}]`;
  if (partial[0] !== 'sum' || Number.isFinite(partial[2])) return JSON.stringify(partial);
  return JSON.stringify([partial[0], partial[1], partial[2] > 0 ? Number.MAX_VALUE : -Number.MAX_VALUE]);
}

/** Bytes of a record around its tables and rows. */
const FRAME_BYTES = 64;

/** A row's brackets, commas and indices of its rule and source, of up to six digits each. */
const ROW_HEAD_BYTES = 16;

/** Cells that travel in one record. */
class CellsRecord {
  private readonly rules = ruleTable();
  private readonly sources = sourceTable();
  private readonly rows: string[] = [];
  private bytes = FRAME_BYTES;

  get isEmpty(): boolean {
    return this.rows.length === 0;
  }

  /** Adds a cell, or says that the record would grow beyond `maxBytes` by it. The first one always fits. */
  add(cell: Cell, maxBytes: number): boolean {
    const head = `${JSON.stringify(cell.group)},${cell.paneMs},${cell.offset},${cell.brokerMs},${cell.eventMs}`;
    const rest = `${head},${partialText(cell.partial)}]`;
    const grown = this.bytes + Buffer.byteLength(rest) + ROW_HEAD_BYTES + this.rules.growth(cell.rule) + this.sources.growth(cell.source);
    if (this.rows.length > 0 && grown > maxBytes) return false;
    this.rows.push(`[${this.rules.indexOf(cell.rule)},${this.sources.indexOf(cell.source)},${rest}`);
    this.bytes = grown;
    return true;
  }

  encode(): Buffer {
    return Buffer.from(
      `{"format":${FORMAT},"kind":"cells","rules":${this.rules},"sources":${this.sources},"cells":[${this.rows.join(',')}]}`,
    );
  }
}

/** Encodes cells of one partition of `alert-partials` into as few records as hold at most `maxBytes` each. A single cell is never split. */
export function encodeCells(cells: readonly Cell[], maxBytes: number = MAX_RECORD_BYTES): Buffer[] {
  const records: Buffer[] = [];
  let record = new CellsRecord();
  for (const cell of cells) {
    if (record.add(cell, maxBytes)) continue;
    records.push(record.encode());
    record = new CellsRecord();
    record.add(cell, maxBytes);
  }
  if (!record.isEmpty) records.push(record.encode());
  return records;
}

function encodeMarks(rules: readonly RuleId[], marks: readonly LaneMark[]): Buffer {
  const sources = sourceTable();
  const rows = marks.map((mark) => [
    sources.indexOf(mark.source),
    mark.watermarkMs,
    mark.fromMs,
    [...mark.ruleFromMs],
    mark.unread ? 1 : 0,
    mark.late,
  ]);
  const ruleRows = JSON.stringify(rules.map(({ name, version }) => [name, version]));
  return Buffer.from(`{"format":${FORMAT},"kind":"marks","rules":${ruleRows},"sources":${sources},"marks":${JSON.stringify(rows)}}`);
}

/** One message as one record, whatever its size; many cells go through `encodeCells`. */
export function encodeMessage(message: Message): Buffer {
  if (message.kind === 'marks') return encodeMarks(message.rules, message.marks);
  if (message.kind === 'silence') return Buffer.from(JSON.stringify({ format: FORMAT, kind: 'silence', silence: message.silence }));
  const record = new CellsRecord();
  for (const cell of message.cells) record.add(cell, Number.POSITIVE_INFINITY);
  return record.encode();
}

type Json = Readonly<Record<string, unknown>>;

function readRules(value: unknown): RuleId[] {
  return readList(value, 'rules').map((row) => {
    const [name, version] = readList(row, 'rule');
    return { name: readText(name, 'rule'), version: readText(version, 'version') };
  });
}

function readSources(value: unknown): Source[] {
  return readList(value, 'sources').map((row) => {
    const [topic, incarnation, partition] = readList(row, 'source');
    return {
      topic: readText(topic, 'topic'),
      incarnation: readText(incarnation, 'incarnation'),
      partition: readWhole(partition, 'partition'),
    };
  });
}

function memberOf<T>(table: readonly T[], index: unknown, name: string): T {
  const member = table[readWhole(index, name)];
  if (member === undefined) throw new MessageError(`${name} ${index} is not in the table`);
  return member;
}

function readCells(body: Json): Cell[] {
  const rules = readRules(body.rules);
  const sources = readSources(body.sources);
  return readList(body.cells, 'cells').map((row) => {
    const fields = readList(row, 'cell');
    return {
      rule: memberOf(rules, fields[0], 'rule'),
      group: readText(fields[2], 'group'),
      paneMs: readNumber(fields[3], 'pane'),
      source: memberOf(sources, fields[1], 'source'),
      offset: readWhole(fields[4], 'offset'),
      brokerMs: readNumber(fields[5], 'broker time'),
      eventMs: readNumber(fields[6], 'event time'),
      partial: readPartial(fields[7]),
    };
  });
}

function readMarks(body: Json): LaneMark[] {
  const sources = readSources(body.sources);
  return readList(body.marks, 'marks').map((row) => {
    const fields = readList(row, 'mark');
    const ruleFrom = readList(fields[3], 'times of rules').map((each): [string, number] => {
      const [name, fromMs] = readList(each, 'time of a rule');
      return [readText(name, 'rule'), readNumber(fromMs, 'time of a rule')];
    });
    return {
      source: memberOf(sources, fields[0], 'source'),
      watermarkMs: readNumber(fields[1], 'watermark'),
      fromMs: readNumber(fields[2], 'from'),
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
    fromMs: readNumber(fromMs, 'begin of the silence'),
    untilMs: readNumber(untilMs, 'end of the silence'),
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
