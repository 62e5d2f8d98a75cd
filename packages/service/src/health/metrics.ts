import { collectDefaultMetrics, Registry } from 'prom-client';

export type Metrics = Registry;

/** A registry of its own (prom-client's global one would be shared by all services that a test starts) with Node's and the process's metrics. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
