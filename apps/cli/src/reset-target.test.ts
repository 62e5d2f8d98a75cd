import { expect, it } from 'vitest';
import { parseResetTarget } from './reset-target.ts';

const NOW_MS = Date.UTC(2026, 0, 31, 12);
const parse = (text: string) => parseResetTarget(text, NOW_MS);

it.each([
  ['earliest', { kind: 'earliest' }],
  ['latest', { kind: 'latest' }],
  ['offset:0', { kind: 'offset', offset: 0 }],
  ['offset:123', { kind: 'offset', offset: 123 }],
  ['2026-01-31T12:00:00Z', { kind: 'time', text: '2026-01-31T12:00:00Z', epochMs: NOW_MS }],
  ['2026-01-31T12:30:00+01:00', { kind: 'time', text: '2026-01-31T12:30:00+01:00', epochMs: NOW_MS - 1_800_000 }],
])('%s', (text, target) => {
  expect(parse(text)).toEqual(target);
});

it.each([
  ['2026-01-31T12:00:01Z', /lies in the future/],
  ['1970-01-21T12:00:00Z', /before 2001: was a number of seconds/],
  ['2000-12-31T23:59:59Z', /before 2001/],
  ['1769860800', /write an offset as offset:1769860800, and a time/],
  ['2026-01-31T12:00:00', /is none of earliest, latest, offset:N and a time with its zone/],
  ['2026-02-30T12:00:00Z', /is none of/],
  ['2026-01-31', /is none of/],
  ['offset:-1', /is none of/],
  ['offset:1.5', /is none of/],
  ['offset:99999999999999999999', /no offset is as large/],
  ['Earliest', /is none of/],
  ['', /is none of/],
])('%s is refused', (text, why) => {
  expect(() => parse(text)).toThrow(why);
});
