import { MAX_EVENT_BYTES } from '@tailrace/events';
import {
  bytes,
  type ConfigOf,
  kafkaVariables,
  listenHost,
  loadConfig,
  milliseconds,
  onOff,
  port,
  type Rule,
  serviceVariables,
  type VariableTable,
  wholeNumber,
} from '@tailrace/service';

const MIB = 1024 * 1024;

/** Every setting of the gateway. */
export const gatewayVariables = {
  service: serviceVariables,
  kafka: kafkaVariables,
  host: {
    name: 'GATEWAY_HOST',
    about: 'The address on which posts are taken. Everyone who reaches it may post.',
    format: listenHost(),
    need: { default: '127.0.0.1' },
  },
  port: {
    name: 'GATEWAY_PORT',
    about: 'The port on which posts are taken; the log says which one was taken.',
    format: port(),
    need: { default: '8080' },
  },
  requireCustomerId: {
    name: 'GATEWAY_REQUIRE_CUSTOMER_ID',
    about: 'Whether an event without `customer_id` is refused. Else its record has no key and no order.',
    format: onOff(),
    need: { default: '0' },
  },
  maxEventBytes: {
    name: 'GATEWAY_MAX_EVENT_BYTES',
    about: 'The largest event. The topic takes records of 2 MiB.',
    format: bytes(1024, MIB),
    need: { default: String(MAX_EVENT_BYTES) },
  },
  maxEvents: {
    name: 'GATEWAY_MAX_EVENTS',
    about: 'How many events one post may hold.',
    format: wholeNumber(1, 1_000_000),
    need: { default: '50000' },
  },
  maxBodyBytes: {
    name: 'GATEWAY_MAX_BODY_BYTES',
    about: 'The largest body, as sent and unpacked.',
    format: bytes(1024, 256 * MIB),
    need: { default: String(8 * MIB) },
  },
  maxInFlightBytes: {
    name: 'GATEWAY_MAX_IN_FLIGHT_BYTES',
    about: 'The bytes of all posts that have no answer yet. Above it posts are answered with 429.',
    format: bytes(1024, 16 * 1024 * MIB),
    need: { default: String(64 * MIB) },
  },
  deadlineMs: {
    name: 'GATEWAY_DEADLINE_MS',
    about: 'How long a post whose body has arrived may wait for Kafka. Then it is answered with 503.',
    format: milliseconds(100, 120_000),
    need: { default: '10000' },
  },
  requestTimeoutMs: {
    name: 'GATEWAY_REQUEST_TIMEOUT_MS',
    about: 'How long a request may take to arrive; its headers have a third of it.',
    format: milliseconds(100, 600_000),
    need: { default: '30000' },
  },
  keepAliveMs: {
    name: 'GATEWAY_KEEP_ALIVE_MS',
    about: 'How long an idle connection is kept. Set it above the idle time of a load balancer in front.',
    format: milliseconds(0, 3_600_000),
    need: { default: '72000' },
  },
  maxConnections: {
    name: 'GATEWAY_MAX_CONNECTIONS',
    about: 'How many connections are open at once; further ones are closed.',
    format: wholeNumber(1, 1_000_000),
    need: { default: '10000' },
  },
} as const satisfies VariableTable;

export type GatewayConfig = ConfigOf<typeof gatewayVariables>;

const rules: readonly Rule<GatewayConfig>[] = [
  ({ maxEventBytes, maxBodyBytes }) =>
    maxEventBytes > maxBodyBytes ? 'GATEWAY_MAX_EVENT_BYTES must not be larger than GATEWAY_MAX_BODY_BYTES.' : undefined,
  // A gzip body is held packed and unpacked: with less room the largest one could never get in, and its client would retry for ever.
  ({ maxBodyBytes, maxInFlightBytes }) =>
    2 * maxBodyBytes > maxInFlightBytes ? 'GATEWAY_MAX_IN_FLIGHT_BYTES must be at least twice GATEWAY_MAX_BODY_BYTES.' : undefined,
];

/** Set by who wants the generated page written instead of compared. */
export const updateDocs = process.env.UPDATE_DOCS === '1';

export const readGatewayConfig = (): GatewayConfig => loadConfig(gatewayVariables, process.env, rules);
