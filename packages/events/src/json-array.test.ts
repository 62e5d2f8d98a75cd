import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sliceJsonArray } from './json-array.ts';

const slices = (text: string) => {
  const body = Buffer.from(text);
  const sliced = sliceJsonArray(body);
  if ('problem' in sliced) return sliced.problem;
  return sliced.elements.map((element) => body.toString('utf8', element.start, element.end));
};

/** JSON text with random white space between its tokens and random escapes in its strings. */
const spaced = fc.tuple(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom('', ' ', '\n', '\r\n\t')).map(([value, space]) => {
  const indented = JSON.stringify(value, null, 1);
  return space === '' ? JSON.stringify(value) : indented.replaceAll('\n', `${space}\n`);
});

describe('sliceJsonArray', () => {
  it.each([
    ['[]', []],
    [' [ ] ', []],
    ['[1]', ['1']],
    ['[{"a":[1,2]}, {"b":"],["} ,\n"\\"," ]', ['{"a":[1,2]}', '{"b":"],["}', '"\\","']],
    ['["\\\\","\\\\\\"",3]', ['"\\\\"', '"\\\\\\""', '3']],
    ['[1.50, 1e2]', ['1.50', '1e2']],
    ['{"a":1}', 'is not a JSON array'],
    ['[1,]', 'is not valid JSON'],
    ['[1] [2]', 'is not valid JSON'],
    ['[', 'is not valid JSON'],
  ])('of %s', (text, expected) => {
    expect(slices(text)).toEqual(expected);
  });

  it('refuses bytes that are not UTF-8, where a decoder would shift nothing but hide them', () => {
    expect(sliceJsonArray(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]))).toEqual({ problem: 'is not valid UTF-8' });
  });

  it('gives slices that parse to the same elements', () => {
    fc.assert(
      fc.property(fc.array(spaced, { maxLength: 12 }), fc.constantFrom(',', ' , ', '\n,\r\n'), (elements, comma) => {
        const text = `[${elements.join(comma)}]`;
        const body = Buffer.from(text);
        const sliced = sliceJsonArray(body);
        if ('problem' in sliced) throw new Error(sliced.problem);
        expect(sliced.elements.map((element) => element.value)).toEqual(JSON.parse(text));
        for (const { start, end, value } of sliced.elements) expect(JSON.parse(body.toString('utf8', start, end))).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it('never gives slices of a body that JSON.parse refuses', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\[[[\]{}",:\\1 ]{0,12}\]$/), (text) => {
        const expected: unknown = (() => {
          try {
            return JSON.parse(text);
          } catch {
            return undefined;
          }
        })();
        const got = slices(text);
        if (expected === undefined) expect(got).toBe('is not valid JSON');
        else expect((got as string[]).map((slice) => JSON.parse(slice))).toEqual(expected);
      }),
      { numRuns: 3000 },
    );
  });
});
