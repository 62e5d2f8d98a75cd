import { describe, expect, it } from 'vitest';
import { dayOf, firstDayKept, indexOfDay } from './index-names.ts';

describe('daily indices', () => {
  it('are named by the UTC day of the broker’s time', () => {
    const lastMs = Date.parse('2026-01-31T23:59:59.999Z');
    expect(indexOfDay('service-events', dayOf(lastMs))).toBe('service-events-2026.01.31');
    expect(indexOfDay('service-events', dayOf(lastMs + 1))).toBe('service-events-2026.02.01');
    expect(dayOf(-1)).toBe(-86_400_000);
  });

  it('are kept for whole days', () => {
    const nowMs = Date.parse('2026-01-31T12:00:00Z');
    expect(indexOfDay('e', firstDayKept(nowMs, 14))).toBe('e-2026.01.17');
  });
});
