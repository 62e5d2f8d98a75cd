import { SERVICE_EVENTS_TOPIC, topicsFor } from '@tailrace/events';
import { isToldHere } from './alert-settings.ts';
import type { Pipeline } from './pipeline.ts';

const LOOK_TIMEOUT_MS = 2000;
const HEARD = /^tailrace_alert_reader_heard_seconds\{partition="\d+"\} (\S+)$/gm;

/** How many partitions must say how far they are counted. */
const PARTITIONS = topicsFor('local').find(({ name }) => name === SERVICE_EVENTS_TOPIC)?.partitions ?? 0;

/** Counts the alerts that were told, and knows when everything that stands in Kafka has been counted and decided upon. */
export class AlertTotals {
  readonly #pipeline: Pick<Pipeline, 'alerts' | 'connections' | 'started'>;
  /** How many records the group has not counted yet. */
  readonly #lag: () => Promise<number>;
  /** Since when all of it was counted. */
  #countedMs: number | undefined;
  #decided = false;

  constructor(pipeline: Pick<Pipeline, 'alerts' | 'connections' | 'started'>, lag: () => Promise<number>) {
    this.#pipeline = pipeline;
    this.#lag = lag;
  }

  /** Null where others are told: it is not known here then. */
  get fired(): number | null {
    const { alerts, connections } = this.#pipeline;
    return isToldHere(connections.environment) ? alerts.fired : null;
  }

  /**
   * Whether everything that stood in Kafka at the first call is counted, and decided upon: the group has counted all, and what it told behind that was
   * decided upon. Never rejects: one who does not answer has not said so.
   */
  async decided(): Promise<boolean> {
    if (this.#decided) return true;
    const url = this.#pipeline.started('alert-processor')?.url('health');
    if (url === undefined) return false;
    const askedMs = Date.now();
    try {
      if (this.#countedMs === undefined) {
        if ((await this.#lag()) > 0) return false;
        this.#countedMs = Date.now();
        return false;
      }
      const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) });
      const heard = heardSeconds(await response.text());
      this.#decided = heard !== undefined && askedMs - heard * 1000 > this.#countedMs;
    } catch {
      // Safe: it starts, or starts again; the next look asks anew.
    }
    return this.#decided;
  }
}

/** How long ago the reader was heard of whose word is the oldest that was decided upon; undefined until every partition has one. */
export function heardSeconds(metrics: string): number | undefined {
  const all = [...metrics.matchAll(HEARD)].map(([, value]) => Number(value));
  return all.length < PARTITIONS || PARTITIONS === 0 ? undefined : Math.max(...all);
}
