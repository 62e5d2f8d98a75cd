import { Counter, Gauge, Histogram, type Metrics } from '@tailrace/service';
import { ANSWERS, type Answer } from './answers.ts';
import type { Intake } from './intake/read-events.ts';

/** What became of the events that were read from posts. */
export type EventOutcome = 'accepted' | 'rejected' | 'withdrawn' | 'unknown';

export interface GatewayMetrics {
  answered(answer: Answer): void;
  clientGone(): void;
  received(bodyBytes: number): void;
  read(intake: Intake): void;
  acknowledged(seconds: number): void;
}

/** The gateway's figures. All label values are known beforehand and start at zero, so that a rate over the first one is right. */
export function createGatewayMetrics(registry: Metrics, inFlightBytes: () => number): GatewayMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'tailrace_gateway_requests_total',
    help: 'Posts by answer.',
    labelNames: ['answer', 'status'],
    registers,
  });
  for (const [code, { status }] of Object.entries(ANSWERS)) requests.inc({ answer: code, status: String(status) }, 0);
  const gone = new Counter({
    name: 'tailrace_gateway_clients_gone_total',
    help: 'Posts whose client went away before the body was complete.',
    registers,
  });
  const events = new Counter({
    name: 'tailrace_gateway_events_total',
    help: 'Events that were read from posts, by what became of them.',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['accepted', 'rejected', 'withdrawn', 'unknown'] satisfies EventOutcome[]) events.inc({ outcome }, 0);
  const rejected = new Counter({
    name: 'tailrace_gateway_rejected_events_total',
    help: 'Events that were not taken, by the field or the fact that is at fault.',
    labelNames: ['reason'],
    registers,
  });
  const withoutKey = new Counter({
    name: 'tailrace_gateway_events_without_key_total',
    help: 'Valid events without customer_id: their records have no key, so no order.',
    registers,
  });
  const bodyBytes = new Counter({
    name: 'tailrace_gateway_body_bytes_total',
    help: 'Bytes of bodies as they were sent, packed or not.',
    registers,
  });
  const eventBytes = new Counter({ name: 'tailrace_gateway_event_bytes_total', help: 'Bytes of records made of valid events.', registers });
  new Gauge({
    name: 'tailrace_gateway_in_flight_bytes',
    help: 'Bytes of posts that have no answer yet.',
    registers,
    collect() {
      this.set(inFlightBytes());
    },
  });
  const ack = new Histogram({
    name: 'tailrace_gateway_ack_seconds',
    help: 'From handing a post’s records to the producer until each has its fate.',
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
    registers,
  });
  return {
    answered({ code, status, body }) {
      requests.inc({ answer: code, status: String(status) });
      for (const outcome of ['accepted', 'rejected', 'withdrawn', 'unknown'] as const) {
        if (body[outcome]) events.inc({ outcome }, body[outcome]);
      }
    },
    clientGone: () => gone.inc(),
    received: (bytes) => bodyBytes.inc(bytes),
    read(intake) {
      eventBytes.inc(intake.bytes);
      withoutKey.inc(intake.withoutKey);
      for (const [reason, count] of intake.rejections.countByReason) rejected.inc({ reason }, count);
    },
    acknowledged: (seconds) => ack.observe(seconds),
  };
}
