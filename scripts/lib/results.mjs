// Sums what vitest wrote about each package's tests.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {{ passed: number, failed: number }} Count
 * @typedef {{ numPassedTests: number, numFailedTests: number, success: boolean }} VitestResult
 */

/**
 * @param {readonly VitestResult[]} results
 * @returns {Count}
 */
export function sumResults(results) {
  let passed = 0;
  let failed = 0;
  for (const result of results) {
    passed += result.numPassedTests;
    // A file that can not even be loaded fails without a failed test.
    failed += result.success ? 0 : Math.max(1, result.numFailedTests);
  }
  return { passed, failed };
}

/** @param {string} folder */
export function readResults(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => /** @type {VitestResult} */ (JSON.parse(readFileSync(join(folder, name), 'utf8'))));
}
