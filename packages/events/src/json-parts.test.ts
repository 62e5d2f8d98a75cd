import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { objectMembers, valueStartOf } from './json-parts.ts';

describe('objectMembers', () => {
  const members = (text: string) => {
    const json = Buffer.from(text);
    return objectMembers(json, JSON.parse(text)).map((member) => [
      member.name,
      json.toString('utf8', valueStartOf(json, member), member.end),
    ]);
  };

  it.each([
    ['names that occur twice, one written with an escape', '{"a":1 , "\\u0061" :\n[2] ,"":"x"}', [['a', '1'], ['a', '[2]'], ['', '"x"']]], // biome-ignore format: one row, one line
    ['names that JavaScript puts first', '{"b":1,"7":2,"a":3,"0":4}', [['b', '1'], ['7', '2'], ['a', '3'], ['0', '4']]], // biome-ignore format: one row, one line
    ['one that it would put first and one twice', '{"b":1,"7":2,"b":3}', [['b', '1'], ['7', '2'], ['b', '3']]], // biome-ignore format: one row, one line
    ['__proto__', '{"__proto__":1,"a":2}', [['__proto__', '1'], ['a', '2']]], // biome-ignore format: one row, one line
    ['nothing', ' { } ', []],
  ])('finds %s', (_, text, expected) => {
    expect(members(text)).toEqual(expected);
  });

  it('gives members that parse to the object', () => {
    const names = fc.oneof(fc.string(), fc.nat(20).map(String), fc.constantFrom('01', '-1', '1.5', '4294967295', '4294967296'));
    const pairs = fc.array(fc.tuple(names, fc.jsonValue({ maxDepth: 2 })), { maxLength: 8 });
    fc.assert(
      fc.property(pairs, fc.constantFrom('', ' ', '\r\n'), (list, space) => {
        const text = `{${space}${list.map(([name, value]) => `${JSON.stringify(name)}${space}:${space}${JSON.stringify(value)}`).join(`${space},`)}${space}}`;
        expect(members(text)).toEqual(list.map(([name, value]) => [name, JSON.stringify(value)]));
      }),
      { numRuns: 1000 },
    );
  });
});
