import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withoutLoneSurrogates } from './lone-surrogates.ts';

const mended = (text: string): string | undefined => withoutLoneSurrogates(Buffer.from(text))?.toString();

it('replaces halves of characters, and leaves whole ones and what only looks like an escape', () => {
  expect(mended('{"a":"\\ud800"}')).toBe('{"a":"\\ufffd"}');
  expect(mended('{"a":"\\uDFFF\\ud83d\\ude00\\ud83d"}')).toBe('{"a":"\\ufffd\\ud83d\\ude00\\ufffd"}');
  expect(mended('{"a":"\\ud83d\\ude00"}')).toBeUndefined();
  expect(mended('{"a":"\\\\ud800"}')).toBeUndefined();
  expect(mended('{"a":"\\\\\\ud800"}')).toBe('{"a":"\\\\\\ufffd"}');
  expect(mended('{"a":"plain"}')).toBeUndefined();
});

it('gives what JSON.parse gives, with each half as U+FFFD (what UTF-8 makes of it)', () => {
  const unit = fc.constantFrom('\ud800', '\udfff', '\ud83d\ude00', '\\', '"', 'u', 'd', '8', '0', 'é');
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const text = units.join('');
      const json = JSON.stringify({ text });
      expect(JSON.parse(mended(json) ?? json)).toEqual({ text: Buffer.from(text).toString() });
    }),
  );
});
