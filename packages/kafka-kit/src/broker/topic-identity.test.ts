import { expect, it } from 'vitest';
import { incarnationOf } from './topic-identity.ts';

it('an incarnation is the first 8 characters of the topic id in base64url: it stands in file names and ids', () => {
  expect(incarnationOf('a+b/c+d/efghijklmnopqr')).toBe('a-b_c-d_');
});

it('what is no topic id is told, not made a name of', () => {
  expect(() => incarnationOf('short')).toThrow('not a topic id in base64: "short"');
  expect(() => incarnationOf('abc=defgh')).toThrow('not a topic id');
});
