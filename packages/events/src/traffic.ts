import type { ServiceEvent } from './event.ts';
import { seededRandom, zipf } from './random.ts';

export interface TrafficOptions {
  /** The same seed gives the same traffic, up to the times that `nowMs` says. */
  readonly seed: number;
  /** Called once per event: its time in milliseconds since 1970. */
  readonly nowMs: () => number;
  /**
   * When bursts of errors come, each of one service. Absent: at random, about once in 20,000 events. Else one in every so many events, in the
   * middle of them.
   */
  readonly bursts?: 'none' | { readonly everyEvents: number; readonly events: number };
}

const CUSTOMERS = 5000;
const HOSTS_PER_SERVICE = 8;
/** A burst of errors begins about once in this many events, hits one service and lasts this many events. */
const BURST_EVERY = 20_000;
const BURST_EVENTS = 2_000;

/** Busiest first: how busy a service is falls with its place. Latencies are lognormal around `medianMs`. */
const services = [
  { name: 'checkout', medianMs: 85, endpoints: ['/v1/carts/{id}', '/v1/orders', '/v1/orders/{id}/payment', '/v1/shipping/quotes'] },
  { name: 'catalog', medianMs: 18, endpoints: ['/v1/products/{id}', '/v1/products/{id}/reviews', '/v1/categories/{id}/products'] },
  { name: 'search', medianMs: 42, endpoints: ['/v1/search', '/v1/suggestions'] },
  { name: 'identity', medianMs: 30, endpoints: ['/v1/sessions', '/v1/users/{id}', '/v1/tokens/refresh'] },
  { name: 'payments', medianMs: 210, endpoints: ['/v2/charges', '/v2/charges/{id}/refunds', '/v2/webhooks/bank'] },
  { name: 'notifications', medianMs: 55, endpoints: ['/v1/messages', '/v1/messages/{id}'] },
  { name: 'reports', medianMs: 900, endpoints: ['/v1/reports/{id}', '/v1/exports'] },
] as const;
const regions = ['eu-central-1', 'us-east-1', 'ap-southeast-1', 'eu-west-1'] as const;
const failures = ['upstream connect timeout', 'deadline exceeded while reading from the database', 'connection reset by peer'] as const;

/**
 * Realistic traffic without an end: few customers and services make most of it, latencies are lognormal, and now and then one
 * service fails in a burst. Events are valid, about 340 bytes as JSON, with fields in the table's order.
 */
export function* generateEvents(options: TrafficOptions): Generator<ServiceEvent, never> {
  const random = seededRandom(options.seed);
  const customerRank = zipf(CUSTOMERS, 1.1);
  const serviceRank = zipf(services.length, 0.8);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)] as T;
  const { bursts } = options;
  const begins = (event: number): boolean => {
    if (bursts === 'none') return false;
    if (bursts === undefined) return random.next() < 1 / BURST_EVERY;
    return event % bursts.everyEvents === Math.floor(bursts.everyEvents / 2);
  };
  const burstEvents = typeof bursts === 'object' ? bursts.events : BURST_EVENTS;
  let burst = { service: -1, left: 0 };
  for (let event = 0; ; event++) {
    if (burst.left-- <= 0 && begins(event)) burst = { service: serviceRank(random.next()), left: burstEvents };
    const place = serviceRank(random.next());
    const service = services[place] as (typeof services)[number];
    const failed = random.next() < (burst.left > 0 && burst.service === place ? 0.4 : 0.004);
    const refused = !failed && random.next() < 0.03;
    const status = failed ? pick([500, 502, 503, 504]) : refused ? pick([400, 401, 404, 409, 429]) : pick([200, 200, 200, 201, 204]);
    const customer = customerRank(random.next());
    const endpoint = pick(service.endpoints).replace('{id}', random.hex(4));
    // A failing service is a slow one: most of its errors are timeouts.
    const latencyMs = service.medianMs * Math.exp(0.6 * random.normal()) * (failed ? 12 : 1);
    yield {
      timestamp: new Date(options.nowMs()).toISOString(),
      customer_id: `cust_${String(customer + 1).padStart(5, '0')}`,
      service: service.name,
      user_id: `u_${customer + 1}_${Math.floor(random.next() * 40)}`,
      endpoint,
      region: regions[customer % regions.length] as string,
      host: `${service.name}-${Math.floor(random.next() * HOSTS_PER_SERVICE)}`,
      latency_ms: Math.round(latencyMs * 100) / 100,
      status_code: status,
      bytes: Math.round(Math.exp(7 + 1.2 * random.normal())),
      level: failed ? 'error' : refused ? 'warn' : 'info',
      message: failed ? pick(failures) : `${endpoint} answered with ${status}`,
      trace_id: random.hex(16),
      ...(random.next() < 0.1
        ? { attributes: { release: `2.${Math.floor(random.next() * 40)}`, retries: Math.floor(random.next() * 3) } }
        : {}),
    };
  }
}
