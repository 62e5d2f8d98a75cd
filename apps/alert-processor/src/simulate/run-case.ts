import { keyOf, partitionForKey } from '@tailrace/events';
import type { Transition } from '../decide/alert-state.ts';
import type { Source } from '../messages/message.ts';
import type { Notification } from '../notify/notification.ts';
import type { EventObject } from '../rules/rule.ts';
import { CASE_PARTITIONS } from './case-keys.ts';
import { compareAlerts } from './compare-alerts.ts';
import type { Case, CaseEvents } from './read-cases.ts';
import { Simulation } from './simulation.ts';

/** One alert of a case, from its firing to its end. Times by the case's clock. */
export interface SeenAlert {
  readonly rule: string;
  /** JSON text, as the rule makes it. */
  readonly group: string;
  readonly firing: Notification;
  readonly firedMs: number;
  readonly resolvedMs?: number;
  /** A silence kept it from being told. */
  readonly silenced: boolean;
}

export interface CaseResult {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** What is not as expected, a sentence each; empty when the case is good. */
  readonly differences: readonly string[];
  readonly alerts: readonly SeenAlert[];
}

const SOURCES: readonly Source[] = Array.from({ length: CASE_PARTITIONS }, (_, partition) => ({
  topic: 'service-events',
  incarnation: 'simulate',
  partition,
}));

interface Arrival {
  readonly atMs: number;
  readonly events: CaseEvents;
  /** When it happens. */
  readonly happensMs: number;
}

/** When every single event arrives, in that order; those of one moment in the order of their lines. */
function arrivalsOf({ startMs, events }: Case): Arrival[] {
  const arrivals = events.flatMap((line) =>
    Array.from({ length: line.times }, (_, i): Arrival => {
      const happensMs = startMs + line.atMs + i * line.everyMs;
      return { atMs: happensMs + line.delayMs, happensMs, events: line };
    }),
  );
  return arrivals.sort((a, b) => a.atMs - b.atMs);
}

/** Runs a case under a clock of its own, and says what was not as expected. */
export function runCase(each: Case): CaseResult {
  const seen = new SeenAlerts();
  const simulation = new Simulation({
    rules: each.rules,
    sources: SOURCES,
    // Panes that the first events are of begin before them.
    startMs: each.startMs - each.rules.latenessMs - each.rules.paneMs,
    onTold: ({ atMs, transition, state }) => seen.take(state.rule, state.group, transition, atMs),
  });
  const next = SOURCES.map(() => 0);
  let turn = 0;
  for (const { atMs, happensMs, events } of arrivalsOf(each)) {
    if (atMs >= each.untilMs) break;
    const event: EventObject = { timestamp: new Date(happensMs).toISOString(), ...events.event };
    const key = keyOf(event as { readonly customer_id?: string });
    const lane = events.partition ?? (key === null ? turn++ % CASE_PARTITIONS : partitionForKey(key, CASE_PARTITIONS));
    simulation.advance(atMs);
    simulation.fold(lane, next[lane] ?? 0, atMs, event);
    next[lane] = (next[lane] ?? 0) + 1;
  }
  simulation.advance(each.untilMs);
  const { name, file, line } = each;
  return { name, file, line, differences: compareAlerts(each, seen.alerts), alerts: seen.alerts };
}

/** Puts alerts together from what is told of them. */
class SeenAlerts {
  private readonly byIncident = new Map<string, SeenAlert>();

  get alerts(): readonly SeenAlert[] {
    return [...this.byIncident.values()];
  }

  take(rule: string, group: string, { notification, silencedBy }: Transition, atMs: number): void {
    const { incident, status } = notification;
    const before = this.byIncident.get(incident);
    const silenced = silencedBy !== undefined;
    if (status === 'resolved') {
      if (before !== undefined) this.byIncident.set(incident, { ...before, resolvedMs: atMs });
    } else if (before === undefined || (before.silenced && !silenced)) {
      this.byIncident.set(incident, { rule, group, firing: notification, firedMs: atMs, silenced });
    }
  }
}
