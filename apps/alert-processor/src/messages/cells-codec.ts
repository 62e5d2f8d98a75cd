import type { Partial } from '../measures/partial.ts';
import { ByteWriter } from './byte-writer.ts';
import { readList, readText, readTime, readTimeSince, readWhole } from './fields.ts';
import type { Cell, RuleId, Source } from './message.ts';
import { readPartial } from './read-partial.ts';
import { memberOf, readRules, readSources, ruleRow, sourceRow, Table } from './tables.ts';

/*
 * Cells in JSON: {…,"rules":[[name,version],…],"sources":[[topic,incarnation,partition],…],"groups":[text,…],"runs":[run,…]}
 * A run is what one lane tells of one pane, [source, offset, pane, [rule, group, broker time - pane, event time - pane, partial, rule, …]], its cells
 * one behind the other; rules, sources and groups by their place in the tables. Lanes tell the same groups, and a lane many groups of a pane.
 */
const CELL_FIELDS = 5;

/** Bytes of a record around its tables and runs. */
const FRAME_BYTES = 128;

/** Cells that travel in one record. */
export class CellsRecord {
  readonly #head: string;
  readonly #rules = new Table<RuleId>(ruleRow);
  readonly #sources = new Table<Source>(sourceRow);
  readonly #groups = new Table<string>((group) => JSON.stringify(group));
  readonly #runs = new ByteWriter();
  #last: Cell | undefined;

  /** `head`: what stands before the tables. */
  constructor(head: string) {
    this.#head = head;
  }

  /** Adds a cell. False: the record would have grown beyond `maxBytes` by it, and is full. The first one always fits. */
  add(cell: Cell, maxBytes: number): boolean {
    const runs = this.#runs;
    const last = this.#last;
    const { length } = runs;
    const sizes = [this.#rules.size, this.#sources.size, this.#groups.size] as const;
    const { paneMs } = cell;
    if (last === undefined || cell.source !== last.source || cell.offset !== last.offset || paneMs !== last.paneMs) this.#begin(cell);
    else runs.ascii(',');
    runs.number(this.#rules.placeOf(cell.rule));
    runs.ascii(',');
    runs.number(this.#groups.placeOf(cell.group));
    runs.ascii(',');
    runs.number(cell.brokerMs - paneMs);
    runs.ascii(',');
    runs.number(cell.eventMs - paneMs);
    runs.ascii(',');
    writePartial(runs, cell.partial);
    if (last !== undefined && FRAME_BYTES + this.#tableBytes + runs.length > maxBytes) {
      runs.cut(length);
      this.#rules.cut(sizes[0]);
      this.#sources.cut(sizes[1]);
      this.#groups.cut(sizes[2]);
      return false;
    }
    this.#last = cell;
    return true;
  }

  get #tableBytes(): number {
    return this.#rules.bytes + this.#sources.bytes + this.#groups.bytes;
  }

  #begin({ source, offset, paneMs }: Cell): void {
    const runs = this.#runs;
    runs.ascii(this.#last === undefined ? '[' : ']],[');
    runs.number(this.#sources.placeOf(source));
    runs.ascii(',');
    runs.number(offset);
    runs.ascii(',');
    runs.number(paneMs);
    runs.ascii(',[');
  }

  encode(): Buffer {
    const tables = `${this.#head},"rules":${this.#rules},"sources":${this.#sources},"groups":${this.#groups},"runs":[`;
    return Buffer.concat([Buffer.from(tables), this.#runs.view(), Buffer.from(this.#last === undefined ? ']}' : ']]]}')]);
  }
}

function writePartial(to: ByteWriter, partial: Partial): void {
  switch (partial[0]) {
    case 'count':
      to.ascii('["count",');
      to.number(partial[1]);
      break;
    case 'ratio':
      to.ascii('["ratio",');
      to.number(partial[1]);
      to.ascii(',');
      to.number(partial[2]);
      break;
    case 'sum':
      to.ascii('["sum",');
      to.number(partial[1]);
      to.ascii(',');
      // JSON has no infinities: a sum that ran over is told as the greatest number there is.
      to.number(Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, partial[2])));
      break;
    case 'sketch':
      to.ascii('["sketch",');
      to.number(partial[1]);
      to.ascii(',');
      to.numbers(partial[2]);
      to.ascii(',');
      to.numbers(partial[3]);
      break;
    case 'distinct':
      to.utf8(JSON.stringify(partial).slice(0, -1));
      break;
  }
  to.ascii(']');
}

export function readCells(body: Readonly<Record<string, unknown>>): Cell[] {
  const rules = readRules(body.rules);
  const sources = readSources(body.sources);
  const groups = readList(body.groups, 'groups');
  const cells: Cell[] = [];
  for (const row of readList(body.runs, 'runs')) {
    const run = readList(row, 'run');
    const source = memberOf(sources, run[0], 'source');
    const offset = readWhole(run[1], 'offset');
    const paneMs = readTime(run[2], 'pane');
    const fields = readList(run[3], 'cells of a run');
    for (let at = 0; at < fields.length; at += CELL_FIELDS) {
      cells.push({
        rule: memberOf(rules, fields[at], 'rule'),
        group: readText(memberOf(groups, fields[at + 1], 'group'), 'group'),
        paneMs,
        source,
        offset,
        brokerMs: readTimeSince(paneMs, fields[at + 2], 'broker time'),
        eventMs: readTimeSince(paneMs, fields[at + 3], 'event time'),
        partial: readPartial(fields[at + 4]),
      });
    }
  }
  return cells;
}
