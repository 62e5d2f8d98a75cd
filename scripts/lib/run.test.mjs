import { expect, it } from 'vitest';
import { takesNothing } from './run.mjs';

it('refuses an option that would have no effect, as wrong use', () => {
  expect(() => takesNothing('npm test', [])).not.toThrow();
  expect(() => takesNothing('npm test', ['--help', 'x'])).toThrow(
    expect.objectContaining({ exitCode: 2, message: expect.stringContaining('"--help"') }),
  );
});
