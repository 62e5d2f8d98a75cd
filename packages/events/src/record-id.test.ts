import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatRecordId, parseRecordId } from './record-id.ts';

const topicName = fc.stringMatching(/^[A-Za-z0-9._-]{1,60}$/);
const incarnation = fc.stringMatching(/^[A-Za-z0-9_-]{8}$/);

describe('record ids', () => {
  it('come back as they went in, whatever the topic and the incarnation hold', () => {
    fc.assert(
      fc.property(topicName, incarnation, fc.nat(100_000), fc.maxSafeNat(), (topic, life, partition, offset) => {
        const record = { topic, incarnation: life, partition, offset };
        expect(parseRecordId(formatRecordId(record))).toEqual(record);
      }),
    );
  });

  it('are parsed from the right: topic and incarnation may hold hyphens and digits', () => {
    expect(parseRecordId('a-1-2~-3-4-5---6-7')).toEqual({ topic: 'a-1-2', incarnation: '-3-4-5--', partition: 6, offset: 7 });
  });

  it('only exist in the one form that is written', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z-]{1,5}~[a-z-]{7,9}-[0-9]{1,3}-[0-9]{1,3}$/)), (text) => {
        const record = parseRecordId(text);
        if (record !== undefined) expect(formatRecordId(record)).toBe(text);
      }),
    );
    expect(parseRecordId('events~AbCdEfGh-01-2')).toBeUndefined();
    expect(parseRecordId('events~AbCdEfGh-1-2\n')).toBeUndefined();
    expect(parseRecordId('events~AbCdEfGh-1-99999999999999999999')).toBeUndefined();
    expect(parseRecordId('events-1-2')).toBeUndefined();
  });
});
