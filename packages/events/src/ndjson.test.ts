import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitNdjson } from './ndjson.ts';

const texts = (body: string) => splitNdjson(Buffer.from(body)).map((l) => [l.line, Buffer.from(body).toString('utf8', l.start, l.end)]);

describe('splitNdjson', () => {
  it.each([
    ['nothing', '', []],
    ['only blank lines', '\n \r\n\t\n', []],
    ['no end at the last line', '{"a":1}\n{"b":2}', [[1, '{"a":1}'], [2, '{"b":2}']]], // biome-ignore format: one row, one line
    ['CR LF', '{"a":1}\r\n{"b":2}\r\n', [[1, '{"a":1}'], [2, '{"b":2}']]], // biome-ignore format: one row, one line
    ['blank lines that count', '\n{"a":1}\n\n\r\n{"b":2}\n', [[2, '{"a":1}'], [5, '{"b":2}']]], // biome-ignore format: one row, one line
    ['white space around', '  {"a":1}\t\n', [[1, '{"a":1}']]],
    ['characters of many bytes', '"ü😀"\n"é"', [[1, '"ü😀"'], [2, '"é"']]], // biome-ignore format: one row, one line
  ])('splits %s', (_, body, expected) => {
    expect(texts(body)).toEqual(expected);
  });

  it('gives back every value of a body, with its line', () => {
    const blank = fc.constantFrom('', ' ', '\t', '\r');
    const row = fc.oneof(
      blank,
      fc.jsonValue().map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.array(row, { maxLength: 20 }), fc.constantFrom('\n', '\r\n'), (rows, end) => {
        const expected = rows.flatMap((text, i) => (text.trim() === '' ? [] : [[i + 1, text]]));
        expect(texts(rows.join(end))).toEqual(expected);
      }),
    );
  });
});
