import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeCells, encodeMessage, MAX_RECORD_BYTES, partitionOf } from './codec.ts';
import type { Cell, Message } from './message.ts';

const whole = fc.maxSafeNat();
const ms = fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 });
const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (n === 0 ? 0 : n));
const text = fc.string({ unit: 'binary', maxLength: 8 });
const bins = fc
  .uniqueArray(fc.tuple(fc.integer({ min: -40_000, max: 40_000 }), whole), { selector: ([bin]) => bin })
  .map((pairs) => pairs.sort(([a], [b]) => a - b).flat());

const partial = fc.oneof(
  fc.tuple(fc.constant('count' as const), whole),
  fc.tuple(fc.constant('ratio' as const), whole, whole),
  fc.tuple(fc.constant('sum' as const), whole, finite),
  fc.tuple(fc.constant('sketch' as const), whole, bins, bins),
  fc.tuple(fc.constant('distinct' as const), whole, whole, fc.option(fc.array(text))),
);
const ruleId = fc.record({ name: text, version: text });
const source = fc.record({ topic: text, incarnation: text, partition: fc.nat(50) });
const cell: fc.Arbitrary<Cell> = fc.record({
  rule: ruleId,
  group: text,
  paneMs: ms,
  source,
  offset: whole,
  brokerMs: ms,
  eventMs: ms,
  partial,
});
const mark = fc.record({
  source,
  watermarkMs: ms,
  fromMs: ms,
  ruleFromMs: fc.array(fc.tuple(text, ms)).map((rows) => new Map(rows)),
  unread: fc.boolean(),
  late: whole,
});
const silence = fc.record(
  { id: text, rule: text, group: text, fromMs: ms, untilMs: ms, comment: text },
  { requiredKeys: ['id', 'fromMs', 'untilMs', 'comment'], noNullPrototype: true },
);
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ kind: fc.constant('cells' as const), cells: fc.array(cell, { maxLength: 8 }) }),
  fc.record({ kind: fc.constant('marks' as const), rules: fc.array(ruleId), marks: fc.array(mark) }),
  fc.record({ kind: fc.constant('silence' as const), silence }),
);

const aCell: Cell = {
  rule: { name: 'errors', version: 'v1' },
  group: '["shop"]',
  paneMs: 10_000,
  source: { topic: 'service-events', incarnation: 'abcdefgh', partition: 3 },
  offset: 7,
  brokerMs: 12_000,
  eventMs: 11_000,
  partial: ['count', 2],
};

describe('the codec of alert-partials', () => {
  it('gives back every message', () => {
    fc.assert(
      fc.property(message, (each) => {
        expect(decodeMessage(encodeMessage(each))).toEqual(each);
      }),
      { numRuns: 300 },
    );
  });

  it('splits cells into records of a bounded size, in their order, losing none', () => {
    fc.assert(
      fc.property(fc.array(cell, { maxLength: 12 }), fc.integer({ min: 1, max: 2000 }), (cells, maxBytes) => {
        const records = encodeCells(cells, maxBytes);
        const decoded = records.map(decodeMessage).map((each) => (each.kind === 'cells' ? each.cells : []));
        expect(decoded.flat()).toEqual(cells);
        for (const [i, record] of records.entries()) expect(record.length <= maxBytes || decoded[i]?.length === 1).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('says rules and sources once in a record', () => {
    const cells = Array.from({ length: 20_000 }, (_, i): Cell => ({ ...aCell, group: JSON.stringify([`customer-${i}`]) }));
    const records = encodeCells(cells);
    for (const record of records) {
      expect(record.length).toBeLessThanOrEqual(MAX_RECORD_BYTES);
      expect(record.toString().split('service-events')).toHaveLength(2);
    }
    expect(records.reduce((sum, { length }) => sum + length, 0) / cells.length).toBeLessThan(60);
  });

  it('makes no records of no cells', () => {
    expect(encodeCells([])).toEqual([]);
  });

  it('tells a sum that ran over as the greatest number, which JSON can hold', () => {
    const sums = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((sum): Cell => ({ ...aCell, partial: ['sum', 2, sum] }));
    const decoded = decodeMessage(encodeMessage({ kind: 'cells', cells: sums }));
    expect(decoded.kind === 'cells' && decoded.cells.map((each) => each.partial[2])).toEqual([Number.MAX_VALUE, -Number.MAX_VALUE]);
  });

  type Run = [number, number, number, unknown[]];
  const good = JSON.parse(encodeMessage({ kind: 'cells', cells: [aCell] }).toString()) as { runs: [Run] } & Record<string, unknown>;
  const [run] = good.runs;
  const withRun = (at: number, value: unknown) => ({ ...good, runs: [run.with(at, value as number)] });
  const withCell = (at: number, value: unknown) => withRun(3, run[3].with(at, value));
  it.each([
    ['no value', null],
    ['no JSON', '{'],
    ['no object', '[1]'],
    ['another format', { ...good, format: 2 }],
    ['another kind', { ...good, kind: 'hello' }],
    ['runs that are no list', { ...good, runs: {} }],
    ['a run that is no list', { ...good, runs: [1] }],
    ['a source that is not in the table', withRun(0, -1)],
    ['an offset below 0', withRun(1, -1)],
    ['an offset that is not whole', withRun(1, 1.5)],
    ['a pane that is no number', withRun(2, '10')],
    ['a pane between two milliseconds', withRun(2, 1.5)],
    ['a pane that no date holds', withRun(2, 1e16)],
    ['a broker time that no date holds', withCell(2, 1e16)],
    ['an infinite sum', JSON.stringify(withCell(4, ['sum', 1, 77_777])).replace('77777', '1e400')],
    ['an infinite broker time', JSON.stringify(withCell(2, 77_777)).replace('77777', '1e400')],
    ['cells that are no list', withRun(3, {})],
    ['a rule that is not in the table', withCell(0, 1)],
    ['a group that is not in the table', withCell(1, 1)],
    ['a group that is no text', { ...good, groups: [5] }],
    ['a time that is no number', withCell(2, '10')],
    ['half a cell', withRun(3, run[3].slice(0, 3))],
    ['no partial', withCell(4, null)],
    ['a partial of an unknown kind', withCell(4, ['median', 1])],
    ['a count that is not whole', withCell(4, ['count', 1.5])],
    ['a count of more than a number', withCell(4, ['count', 1, 1])],
    ['a sum of null', withCell(4, ['sum', 1, null])],
    ['a distinct value that is no text', withCell(4, ['distinct', 1, 5, [1]])],
    ['a distinct partial without its end', withCell(4, ['distinct', 1, 5])],
    ['bins that do not rise', withCell(4, ['sketch', 2, [7, 1, 7, 1], []])],
    ['a bin without its count', withCell(4, ['sketch', 1, [7], []])],
    ['a bin that is not whole', withCell(4, ['sketch', 1, [7.5, 1], []])],
    ['bins that are none', withCell(4, ['sketch', 1, 'CgQ=', []])],
    ['marks without rules', { format: 1, kind: 'marks', sources: [], marks: [] }],
    ['a mark at no time', '{"format":1,"kind":"marks","rules":[],"sources":[["t","i",0]],"marks":[[0,1e400,0,[],0,0]]}'],
    ['a silence without end', { format: 1, kind: 'silence', silence: { id: 'a', fromMs: 1, comment: '' } }],
  ])('refuses %s by name', (_, value) => {
    const bytes = value === null ? null : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
    expect(() => decodeMessage(bytes)).toThrow(expect.objectContaining({ name: 'MessageError' }));
  });

  it('never throws anything else, whatever the bytes', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((json) => Buffer.from(json)),
        ),
        (bytes) => {
          expect(() => decodeMessage(bytes)).toThrow(expect.objectContaining({ name: 'MessageError' }));
        },
      ),
    );
  });

  it('places a group like a keyed record of Kafka', () => {
    expect(partitionOf('errors', '["shop"]', 1)).toBe(0);
    const places = new Set(Array.from({ length: 200 }, (_, i) => partitionOf('errors', JSON.stringify([`s${i}`]), 12)));
    expect(places.size).toBe(12);
  });
});
