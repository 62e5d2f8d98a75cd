import { expect, it } from 'vitest';
import { reasonsOf } from './reasons.ts';

it('says each reason once and on one line, from the outside in', () => {
  const refused = new Error('connect ECONNREFUSED\nat somewhere');
  const all = new AggregateError([refused, new Error('connect ECONNREFUSED')], '');
  expect(reasonsOf(new Error('metadata failed', { cause: all }))).toBe('metadata failed: connect ECONNREFUSED');
  expect(reasonsOf('no error at all')).toBe('no error at all');
});
