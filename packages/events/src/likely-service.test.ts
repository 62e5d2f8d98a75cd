import { expect, it } from 'vitest';
import { likelyService } from './likely-service.ts';

it.each([
  ['{"service":"checkout"}', 'checkout'],
  ['{"timestamp": 1, "service" : "a\\"b", ', 'a"b'],
  ['{"timestamp":"2026', undefined],
  ['{"service":5}', undefined],
  [`{"service":"${'x'.repeat(129)}"}`, undefined],
  ['{"service":"a\\ud8"}', undefined],
  ['', undefined],
])('%s', (text, service) => {
  expect(likelyService(Buffer.from(text))).toBe(service);
});

it('a value that is no text, or none at all, has no service', () => {
  expect([likelyService(null), likelyService(Buffer.from([0xff, 0xfe]))]).toEqual([undefined, undefined]);
});

it('bytes that are no UTF-8 elsewhere in the value do not hide it', () => {
  expect(likelyService(Buffer.concat([Buffer.from([0xff]), Buffer.from('"service":"s"')]))).toBe('s');
});
