import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundedText, groupName, groupText, MAX_GROUP_VALUE_LENGTH } from './group-of.ts';
import type { EventObject } from './rule.ts';

describe('a group', () => {
  it('is named by the values of its fields, in order', () => {
    const group = groupName([{ known: 'service' }, { attribute: 'plan' }]);
    expect(group({ service: 'shop', attributes: { plan: 'pro' } })).toBe('["shop","pro"]');
    expect(group({ service: 'shop', plan: 7 })).toBe('["shop","7"]');
    expect(group({ attributes: { plan: false } })).toBe('[null,"false"]');
    expect(group({ service: null, attributes: { plan: ['pro'] } })).toBe('[null,null]');
    expect(groupName([])({ service: 'shop' })).toBe('[]');
  });

  it('has texts of a bounded length, and two long ones are not taken for the same', () => {
    const long = 'x'.repeat(10_000);
    expect(boundedText('x'.repeat(MAX_GROUP_VALUE_LENGTH))).toBe('x'.repeat(MAX_GROUP_VALUE_LENGTH));
    expect(boundedText(long)).toHaveLength(MAX_GROUP_VALUE_LENGTH);
    expect(boundedText(`${long}a`)).not.toBe(boundedText(`${long}b`));
    // Half of a pair would be no character.
    for (const before of [0, 1]) expect(boundedText(`${'x'.repeat(before)}${'😀'.repeat(200)}`)).not.toMatch(/[\ud800-\udfff]/u);
  });

  it('is JSON text of a bounded length, whatever the event', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const name = groupName([{ known: 'service' }, { attribute: 'a' }])({ service: value, attributes: value } as EventObject);
        const parsed: unknown = JSON.parse(name);
        expect(
          Array.isArray(parsed) &&
            parsed.every((each) => each === null || (typeof each === 'string' && each.length <= MAX_GROUP_VALUE_LENGTH)),
        ).toBe(true);
      }),
    );
  });

  it('has the same name when it is remembered as when it is made, and no other list of texts has it', () => {
    const group = groupName([{ known: 'service' }, { known: 'host' }]);
    const short = fc.string({ unit: fc.constantFrom('1', '2', ':', 'a', '"'), maxLength: 5 });
    fc.assert(
      fc.property(short, short, (service, host) => {
        for (let turn = 0; turn < 2; turn++) expect(group({ service, host })).toBe(JSON.stringify([service, host]));
      }),
      { numRuns: 3000 },
    );
  });

  it('takes numbers as JSON has them', () => {
    expect([1, 1.5, -0, 1e21, Number.NaN, Number.POSITIVE_INFINITY, true].map(groupText)).toEqual([
      '1',
      '1.5',
      '0',
      '1e+21',
      null,
      null,
      'true',
    ]);
  });
});
