import { SERVICE_EVENTS_TOPIC, topicsFor } from '@tailrace/events';
import type { Pipeline } from './pipeline.ts';

const LOOK_TIMEOUT_MS = 2000;
const BEHIND = /^tailrace_alert_counted_behind_seconds\{partition="\d+"\} (\S+)$/gm;

/** How many partitions must say how far they are counted. */
const PARTITIONS = topicsFor('local').find(({ name }) => name === SERVICE_EVENTS_TOPIC)?.partitions ?? 0;

/** Counts the alerts that were told, and knows when everything posted until a moment has been counted and decided upon. */
export class AlertTotals {
  readonly #pipeline: Pick<Pipeline, 'alerts' | 'service'>;
  readonly #postedMs: number;
  #counted = false;

  constructor(pipeline: Pick<Pipeline, 'alerts' | 'service'>, postedMs: number) {
    this.#pipeline = pipeline;
    this.#postedMs = postedMs;
  }

  get fired(): number {
    return this.#pipeline.alerts.fired;
  }

  /** Whether every partition is counted, and decided upon, up to that moment. Never rejects: one who does not answer has not said so. */
  async counted(): Promise<boolean> {
    if (this.#counted) return true;
    const url = this.#pipeline.service('alert-processor').url('health');
    if (url === undefined) return false;
    const askedMs = Date.now();
    try {
      const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) });
      const behind = behindSeconds(await response.text());
      this.#counted = behind !== undefined && askedMs - behind * 1000 > this.#postedMs;
    } catch {
      // Safe: it starts, or starts again; the next look asks anew.
    }
    return this.#counted;
  }
}

/** How far behind the partition that is furthest behind is counted; undefined until every partition says so. */
export function behindSeconds(metrics: string): number | undefined {
  const all = [...metrics.matchAll(BEHIND)].map(([, value]) => Number(value));
  return all.length < PARTITIONS || PARTITIONS === 0 ? undefined : Math.max(...all);
}
