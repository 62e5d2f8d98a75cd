import { describe, expect, it } from 'vitest';
import { meaningOfItem, meaningOfRequest } from './bulk-outcomes.ts';

describe('answers that nobody thought of', () => {
  it('never count as stored and never as bad data', () => {
    for (const status of [100, 202, 204, 301, 400, 401, 403, 404, 405, 410, 422]) {
      expect(meaningOfItem(status, 'some_new_exception')).toBe('pause');
      if (status !== 400) expect(meaningOfRequest(status, { type: 'some_new_exception' }, 5, 100)).toBe('pause');
    }
    expect(meaningOfItem(0, undefined)).toBe('pause');
    expect(meaningOfRequest(0, {}, 5, 100)).toBe('pause');
  });
});

describe('a refusal for want of memory', () => {
  const rejected = (operation: number, limit: number) => ({
    type: 'rejected_execution_exception',
    reason: `coordinating_operation_bytes=${operation}, max_coordinating_and_primary_bytes=${limit}`,
  });

  it('splits what can never pass, and waits where others took the memory: halves would only be more requests', () => {
    expect(meaningOfRequest(429, rejected(60_000_000, 50_000_000), 100, 59_000_000)).toBe('split');
    expect(meaningOfRequest(429, rejected(6_000_000, 50_000_000), 100, 5_900_000)).toBe('pause');
    expect(meaningOfRequest(429, { type: 'circuit_breaking_exception', bytes_limit: 1_000_000 }, 100, 2_000_000)).toBe('split');
    expect(meaningOfRequest(429, { type: 'circuit_breaking_exception', bytes_limit: 100_000_000 }, 100, 2_000_000)).toBe('pause');
    expect(meaningOfRequest(429, rejected(60_000_000, 50_000_000), 1, 59_000_000)).toBe('pause');
  });
});
