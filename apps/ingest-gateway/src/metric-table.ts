import { everyOf, type MetricTable } from '@tailrace/kafka-kit';

/** What became of the events that were read from posts. */
export type EventOutcome = 'accepted' | 'rejected' | 'withdrawn' | 'unknown';
export const EVENT_OUTCOMES = everyOf<EventOutcome>({ accepted: true, rejected: true, withdrawn: true, unknown: true });

/** The gateway's figures. */
export const GATEWAY_METRICS = {
  requests: {
    name: 'tailrace_gateway_requests_total',
    type: 'counter',
    unit: 'requests',
    labels: { answer: 'the answers of errors.md, and `accepted` and `partly_accepted`', status: 'that of the answer' },
    says: 'Posts by answer.',
    respond: 'errors.md says of each answer what to do. Alert on 503: senders are turned away.',
  },
  gone: {
    name: 'tailrace_gateway_clients_gone_total',
    type: 'counter',
    unit: 'clients',
    labels: {},
    says: 'Posts whose client went away before the body was complete.',
    respond: 'Many: the senders’ own time-out is too short for their posts.',
  },
  events: {
    name: 'tailrace_gateway_events_total',
    type: 'counter',
    unit: 'events',
    labels: { outcome: EVENT_OUTCOMES },
    says: 'Events that were read from posts, by what became of them.',
    respond: '`withdrawn` and `unknown`: Kafka did not confirm in time; the senders post again. `rejected`: see the reasons.',
  },
  canaries: {
    name: 'tailrace_gateway_canary_events_total',
    type: 'counter',
    unit: 'events',
    labels: {},
    says: 'Accepted events that tailrace posted to itself (`service: tailrace.canary`). They are among the accepted ones of `tailrace_gateway_events_total`.',
    respond:
      'Nothing: subtract them where you count events. None, although the alert-processor is told to post them (`ALERT_CANARY_URL`): see its log.',
  },
  rejected: {
    name: 'tailrace_gateway_rejected_events_total',
    type: 'counter',
    unit: 'events',
    labels: { reason: 'the fields of event.md, and a few fixed words for the event as a whole' },
    says: 'Events that were not taken, by the field or the fact that is at fault.',
    respond: 'Tell the service that sends them: its answer lists each event with line and reason.',
  },
  withoutKey: {
    name: 'tailrace_gateway_events_without_key_total',
    type: 'counter',
    unit: 'events',
    labels: {},
    says: 'Valid events without customer_id: their records have no key, so no order.',
    respond: 'Nothing, unless you need their order: `GATEWAY_REQUIRE_CUSTOMER_ID`.',
  },
  bodyBytes: {
    name: 'tailrace_gateway_body_bytes_total',
    type: 'counter',
    unit: 'bytes',
    labels: {},
    says: 'Bytes of bodies as they were sent, packed or not.',
    respond: 'Nothing: it follows the traffic.',
  },
  eventBytes: {
    name: 'tailrace_gateway_event_bytes_total',
    type: 'counter',
    unit: 'bytes',
    labels: {},
    says: 'Bytes of records made of valid events.',
    respond: 'Nothing: it follows the traffic.',
  },
  inFlight: {
    name: 'tailrace_gateway_in_flight_bytes',
    type: 'gauge',
    unit: 'bytes',
    labels: {},
    says: 'Bytes of posts that have no answer yet.',
    respond: 'At its bound (`GATEWAY_MAX_IN_FLIGHT_BYTES`) posts are answered 429: Kafka is slow, or another gateway is needed.',
  },
  ack: {
    name: 'tailrace_gateway_ack_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: {},
    says: 'From handing a post’s records to the producer until each has its fate.',
    respond: 'Its p99 near `GATEWAY_DEADLINE_MS`: look at the brokers first.',
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
  },
} as const satisfies MetricTable;
