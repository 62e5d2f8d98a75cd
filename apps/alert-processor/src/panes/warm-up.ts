import { isoTime } from '@tailrace/kafka-kit';
import type { Check } from '@tailrace/service';

/** How far a process is with what came before it was started. */
export type WarmUp =
  /** No partition was given to it yet. */
  | { readonly kind: 'waiting' }
  /** `partitions`: of those that it has, how many are not yet where their log ended when they were opened. */
  | { readonly kind: 'warming'; readonly sinceMs: number; readonly partitions: number }
  | { readonly kind: 'warm'; readonly tookMs: number };

/** Degraded while it warms up: it works, and its alerts are late. */
export function warmUpHealth(warmUp: WarmUp): Check {
  switch (warmUp.kind) {
    case 'waiting':
      return { state: 'ok', sentence: 'No partition has been given to this process yet.' };
    case 'warming':
      return {
        state: 'degraded',
        sentence: `Warming up since ${isoTime(warmUp.sinceMs)}: ${warmUp.partitions} ${warmUp.partitions === 1 ? 'partition is' : 'partitions are'} still counted up to where the log ended at the start; alerts are late until then.`,
      };
    case 'warm':
      return { state: 'ok', sentence: `What came before the start was counted within ${(warmUp.tookMs / 1000).toFixed(1)} s.` };
  }
}
