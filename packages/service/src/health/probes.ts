import type { Health } from './health.ts';
import type { Metrics } from './metrics.ts';

export interface ProbeAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Answers the paths that supervisors and Prometheus ask for. Any server of the process may serve them. */
export type Probes = { readonly [path in (typeof PROBE_PATHS)[number]]: () => Promise<ProbeAnswer> };

export const PROBE_PATHS = ['/livez', '/readyz', '/metrics'] as const;

/**
 * - `/livez`: 200 as long as the event loop turns;
 * - `/readyz`: 200 when ready or degraded, 503 when not, with every check's state and sentence;
 * - `/metrics`: Prometheus text.
 */
export function createProbes(health: Health, metrics: Metrics): Probes {
  return {
    '/livez': async () => json(200, { state: 'ok' }),
    '/readyz': async () => {
      const report = health.report();
      return json(report.state === 'not-ready' ? 503 : 200, report);
    },
    '/metrics': async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.metrics() }),
  };
}

function json(status: number, body: object): ProbeAnswer {
  return { status, contentType: 'application/json; charset=utf-8', body: `${JSON.stringify(body)}\n` };
}
