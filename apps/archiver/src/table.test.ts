import { expect, it } from 'vitest';
import { tableLines } from './table.ts';

it('aligns columns, keeps each row on one line and bounds its cells', () => {
  const rows = [
    { service: 'checkout', n: 12, note: null },
    { service: 'a', n: 3, note: 'two\nlines' },
    { service: 'b', n: 4, note: { nested: [1] } },
    { service: 'c', n: 5, note: 'x'.repeat(200) },
  ];
  expect(tableLines({ columns: ['service', 'n', 'note'], rows })).toEqual([
    'service   n   note',
    `--------  --  ${'-'.repeat(80)}`,
    'checkout  12',
    'a         3   two lines',
    'b         4   {"nested":[1]}',
    `c         5   ${'x'.repeat(79)}…`,
    '(4 rows)',
  ]);
});

it('lets nothing through to the terminal that colours it, moves its cursor or turns its direction', () => {
  const lines = tableLines({ columns: ['k\u001b[31m'], rows: [{ 'k\u001b[31m': 'a\u001b]0;x\u0007b\u202ec\u061cd' }] } as never);
  expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(lines[2]).toBe('a\\u{1b}]0;x\\u{7}b\\u{202e}c\\u{61c}d');
});
