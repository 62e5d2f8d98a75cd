import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { objectMembers, topLevelParts } from './json-parts.ts';

describe('topLevelParts', () => {
  it('finds the members of an object', () => {
    const json = Buffer.from('{ "a" : {"x":[1,2]} , "b\\",c":"}" }');
    expect(topLevelParts(json).map((part) => json.toString('utf8', part.start, part.end))).toEqual(['"a" : {"x":[1,2]}', '"b\\",c":"}"']);
  });
});

describe('objectMembers', () => {
  it('finds names and values, also where names repeat or are written with escapes', () => {
    const json = Buffer.from('{"a":1 , "\\u0061" :\n[2] ,"":"x"}');
    expect(objectMembers(json).map(({ name, valueStart, end }) => [name, json.toString('utf8', valueStart, end)])).toEqual([
      ['a', '1'],
      ['a', '[2]'],
      ['', '"x"'],
    ]);
  });

  it('gives members that parse to the object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 1, '\t'), (object, space) => {
        const json = Buffer.from(JSON.stringify(object, null, space));
        const parsed = objectMembers(json).map(({ name, valueStart, end }) => [name, JSON.parse(json.toString('utf8', valueStart, end))]);
        expect(parsed).toEqual(Object.entries(JSON.parse(json.toString())));
      }),
    );
  });
});
