/**
 * Cells that one process publishes in a second before its ticks grow longer. A cell costs both stages 2.6 us: at 25,000 events/s with 20 rules and
 * 5,000 groups a tick every 250 ms tells 57,000 cells a second, which is more than counting the events; every 500 ms it is 31,000.
 */
const CELLS_PER_SECOND = 30_000;

/** Load alone makes no alert wait longer than that for the cells that cause it. */
const LONGEST_TICK_MS = 1000;

/** How long a tick lasts that has told so many cells: under load longer than `tickMs`, so that what changes often is told once. */
export function tickLengthMs(tickMs: number, cells: number): number {
  return Math.max(tickMs, Math.min(LONGEST_TICK_MS, (cells / CELLS_PER_SECOND) * 1000));
}
