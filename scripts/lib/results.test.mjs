import { expect, test } from 'vitest';
import { sumResults } from './results.mjs';

test('passed and failed tests are summed over packages', () => {
  const results = [
    { numPassedTests: 3, numFailedTests: 0, success: true },
    { numPassedTests: 2, numFailedTests: 2, success: false },
  ];
  expect(sumResults(results)).toEqual({ passed: 5, failed: 2 });
});

test('a test file that could not be loaded is a failure, although no test of it failed', () => {
  expect(sumResults([{ numPassedTests: 4, numFailedTests: 0, success: false }])).toEqual({ passed: 4, failed: 1 });
});
