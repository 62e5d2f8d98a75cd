/** How long to wait between attempts: `firstMs * factor^attempt`, at most `maxMs`, less up to `jitter` (0 to 1) of it at random. */
export interface Backoff {
  readonly firstMs: number;
  readonly factor: number;
  readonly maxMs: number;
  readonly jitter: number;
}

export const DEFAULT_BACKOFF: Backoff = { firstMs: 100, factor: 2, maxMs: 10_000, jitter: 0.5 };

/** Milliseconds to wait before attempt `attempt` (0 is the first retry). `random` gives [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number = Math.random): number {
  const full = Math.min(backoff.maxMs, backoff.firstMs * backoff.factor ** Math.min(attempt, 64));
  return full * (1 - backoff.jitter * random());
}
