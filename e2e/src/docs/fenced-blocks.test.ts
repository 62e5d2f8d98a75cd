import { expect, test } from 'vitest';
import { fencedBlocks } from './fenced-blocks.ts';

test('a block with a language is found, with the plain block behind it as its output', () => {
  const page = [
    'text',
    '```',
    'picture',
    '```',
    '',
    '```sh',
    'a',
    'b',
    '```',
    '',
    '```',
    'out',
    '```',
    '```sh',
    'c',
    '```',
    'so',
    '```',
    'x',
    '```',
  ];
  expect(fencedBlocks(page.join('\n'))).toEqual([
    { line: 6, language: 'sh', text: 'a\nb', output: 'out' },
    { line: 14, language: 'sh', text: 'c', output: undefined },
  ]);
});

test('a fence that is not closed is told with its line', () => {
  expect(() => fencedBlocks('a\n```sh\nb')).toThrow('line 2');
});
