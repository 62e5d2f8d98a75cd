import { partitionForKey, seededRandom } from '@tailrace/events';
import type { Incident, IncidentPlan } from './plan.ts';

/** One event as a service posts it, and where its record goes. */
export interface PlannedEvent {
  readonly atMs: number;
  readonly partition: number;
  readonly key: Buffer;
  readonly value: Buffer;
}

const PER_SECOND = 4;
/** Above the rule's threshold also at the start, where it is compared with the first pane of the traffic. */
const SURGE = 16;
const CUSTOMERS = 40;
const PARTITIONS = 12;

/** What the services post in `[fromMs, toMs)`, in order of time. The same slice of the same plan gives the same events. */
export function eventsOf(plan: IncidentPlan, fromMs: number, toMs: number): PlannedEvent[] {
  const events: PlannedEvent[] = [];
  plan.services.forEach((service, i) => {
    const incident = plan.incidents.find((each) => each.service === service);
    for (let secondMs = fromMs; secondMs < toMs; secondMs += 1000) {
      const random = seededRandom(plan.seed * 7919 + i * 104_729 + (secondMs - plan.startMs) / 1000);
      const holds = incident !== undefined && secondMs >= incident.startMs && secondMs < incident.endMs ? incident : undefined;
      const count = holds?.kind === 'silent' ? 0 : holds?.kind === 'surge' ? PER_SECOND * SURGE : PER_SECOND;
      for (let n = 0; n < count; n++) events.push(eventOf({ service, holds, surges: incident?.kind === 'surge' }, secondMs, random));
    }
  });
  return events.sort((a, b) => a.atMs - b.atMs);
}

interface Posting {
  readonly service: string;
  readonly holds: Incident | undefined;
  /** Only services that surge are compared with five minutes ago: one that was silent then would look like a surge. */
  readonly surges: boolean;
}

function eventOf({ service, holds, surges }: Posting, secondMs: number, random: ReturnType<typeof seededRandom>): PlannedEvent {
  const atMs = secondMs + Math.floor(random.next() * 1000);
  const customer = holds?.kind === 'scan' ? `scan-${random.hex(6)}` : `${service}-${Math.floor(random.next() * CUSTOMERS)}`;
  // A hundredth of a surge would be as many errors as an incident.
  const failed = random.next() < (holds?.kind === 'failing' ? 0.4 : surges ? 0 : 0.01);
  const event = {
    timestamp: new Date(atMs).toISOString(),
    customer_id: customer,
    service,
    endpoint: '/v1/orders',
    region: surges ? 'eu-west-1' : 'us-east-1',
    latency_ms: Math.round((20 + random.next() * 80) * (holds?.kind === 'slow' ? 50 : 1)),
    status_code: failed ? 503 : 200,
    bytes: Math.round((500 + random.next() * 1000) * (holds?.kind === 'heavy' ? 100 : 1)),
    level: failed ? 'error' : 'info',
    trace_id: random.hex(16),
  };
  const key = Buffer.from(customer);
  return { atMs, partition: partitionForKey(key, PARTITIONS), key, value: Buffer.from(JSON.stringify(event)) };
}
