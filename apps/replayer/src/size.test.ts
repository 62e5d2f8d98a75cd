import { expect, it } from 'vitest';
import { bytesText, parseBytes } from './size.ts';

it.each([
  ['1000', 1000],
  ['5MiB', 5 * 1024 ** 2],
  ['5mib', 5 * 1024 ** 2],
  ['3MB', 3e6],
  ['2KiB', 2048],
  ['7B', 7],
])('%s', (text, bytes) => expect(parseBytes(text)).toBe(bytes));

it.each(['', '0', '0KiB', '-1', '1.5MiB', '5 MiB', '5TiB', 'MiB', '999999999999999GiB'])('%j is no size', (text) =>
  expect(() => parseBytes(text)).toThrow('Give a size'),
);

it('is told in the unit that it fills', () => expect([7, 2048, 5.5 * 1024 ** 2].map(bytesText)).toEqual(['7 B', '2.0 KiB', '5.5 MiB']));
