import type { Rule, RuleSet } from '../rules/rule.ts';

const DAY_MS = 24 * 3_600_000;

/** How far a rule looks back: what its last decision needs is so much older than it. */
export function reachOf({ window, forMs, compareMs = 0, rememberMs = 0 }: Rule): number {
  return window.ms + forMs + compareMs + rememberMs;
}

/**
 * One sentence about each rule that looks further back than `topic` keeps its records: what it needs would be deleted, and a restart decide upon
 * less. A day is kept in hand, for a stop over night. `retentionMs` undefined: kept for ever, or not known.
 */
export function reachFaults(topic: string, retentionMs: number | undefined, { rules, latenessMs }: RuleSet): string[] {
  if (retentionMs === undefined) return [];
  return rules.flatMap((rule) => {
    const neededMs = reachOf(rule) + latenessMs + DAY_MS;
    if (neededMs <= retentionMs) return [];
    return [
      `Rule ${rule.name} looks back ${reachOf(rule)} ms, so with the lateness of ${latenessMs} ms and a day in hand ${topic} must keep its records for ${neededMs} ms, and keeps them for ${retentionMs} ms: shorten its window, or raise retention.ms of the topic.`,
    ];
  });
}
