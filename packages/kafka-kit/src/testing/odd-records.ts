import fc from 'fast-check';
import type { RecordParts } from '../recover/side-record.ts';

/** Header names that something on the way has its own ideas about, and ordinary ones. Never a lone surrogate: no record has one. */
export const headerNames: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('', '__proto__', 'constructor', '0', 'a', 'a', 'origin.topic', 'origin.empty', 'origin.headers', 'dlq.reason'),
  fc.constantFrom('dlq.replays', 'replay.plan', 'originally', 'cut\0here', '\0', 'ünïcödé', '💥', 'line\nbreak', ' '),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);

const bytes = fc.oneof(
  fc.constant(null),
  fc.constant(Buffer.alloc(0)),
  fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)),
);

/** Keys, values and headers of every odd kind: null, empty, binary, repeated, with names of ours. */
export const recordParts: fc.Arbitrary<RecordParts> = fc.record({
  key: bytes,
  value: bytes,
  headers: fc.array(fc.tuple(headerNames, bytes), { maxLength: 8 }),
});
