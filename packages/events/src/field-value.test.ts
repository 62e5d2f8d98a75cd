import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fieldReader, fieldValue } from './field-value.ts';

describe('fieldReader', () => {
  it('reads what fieldValue finds, whatever the JSON', () => {
    const paths = [
      ...['service', 'message', 'latency_ms', 'constructor', '__proto__', 'length'].map((known) => ({ known })),
      ...['plan', 'service', 'constructor', '__proto__'].map((attribute) => ({ attribute })),
    ];
    const key = fc.constantFrom('service', 'message', 'constructor', '__proto__', 'plan', 'attributes');
    const { node } = fc.letrec((tie) => ({
      node: fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.array(tie('node')), fc.dictionary(key, tie('node'))),
    }));
    fc.assert(
      fc.property(node, (value) => {
        const event: unknown = JSON.parse(JSON.stringify(value));
        for (const path of paths) expect(fieldReader(path)(event)).toBe(fieldValue(event, path));
      }),
    );
  });
});
