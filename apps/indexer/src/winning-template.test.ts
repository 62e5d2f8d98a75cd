import fc from 'fast-check';
import { expect, it } from 'vitest';
import { matches } from './winning-template.ts';

it('index patterns match as their stars say', () => {
  const short = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 });
  fc.assert(
    fc.property(short, short, (pattern, text) => {
      const name = text.replaceAll('*', 'a');
      const expression = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
      expect(matches(pattern, name)).toBe(expression.test(name));
    }),
    { numRuns: 5000 },
  );
  expect(matches('service-events-*.*.*', 'service-events-2026.01.31')).toBe(true);
});
