import { createLogger, createMetrics, createProbes, Health, loadConfig, type Metrics } from '@tailrace/service';
import type { AnswerBody, AnswerCode } from '../answers.ts';
import { gatewayVariables } from '../config.ts';
import { PostWatch } from '../post-watch.ts';
import { createGateway, type GatewayOptions, startGateway } from '../server.ts';
import { FakePublisher } from './fake-publisher.ts';

export const TOPIC = 'events-under-test';

/** An event that is valid, with whatever else it is to hold. */
export function event(more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ timestamp: '2026-01-31T23:59:59.123Z', service: 'checkout', ...more });
}

export interface TestGateway {
  readonly publisher: FakePublisher;
  readonly metrics: Metrics;
  readonly health: Health;
  /** Lines that the gateway logged at warn or above: a test of bad input expects none. */
  readonly logged: readonly string[];
  closed: AnswerCode | undefined;
  readonly options: GatewayOptions;
}

/** What a gateway needs, with its limits made smaller by environment variables. */
export function gatewayParts(environment: Readonly<Record<string, string>> = {}): TestGateway {
  const config = loadConfig(gatewayVariables, { KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1', GATEWAY_PORT: '0', ...environment });
  const publisher = new FakePublisher();
  const metrics = createMetrics();
  const health = new Health();
  const logged: string[] = [];
  const log = createLogger({ name: 'test', level: 'warn', to: { write: (line: string) => void logged.push(line) } });
  const parts: TestGateway = {
    publisher,
    metrics,
    health,
    logged,
    closed: undefined,
    options: {
      config,
      topic: TOPIC,
      publisher,
      metrics,
      probes: createProbes(health, metrics),
      watch: new PostWatch({ log, findCause: async () => undefined, signal: new AbortController().signal }),
      closedBecause: () => parts.closed,
    },
  };
  return parts;
}

/** A gateway without a socket, and how to post to it. */
export function postingGateway(environment?: Readonly<Record<string, string>>) {
  const parts = gatewayParts(environment);
  const { app } = createGateway(parts.options);
  return {
    ...parts,
    parts,
    app,
    async post(body: string | Buffer, headers: Record<string, string> = { 'content-type': 'application/x-ndjson' }) {
      const answered = await app.inject({ method: 'POST', url: '/v1/events', headers, payload: body });
      return { status: answered.statusCode, headers: answered.headers, body: answered.json<AnswerBody>() };
    },
    values: () => parts.publisher.published.map(({ value }) => value?.toString()),
  };
}

export async function listeningGateway(environment?: Readonly<Record<string, string>>) {
  const parts = gatewayParts(environment);
  return { ...parts, parts, gateway: await startGateway(parts.options) };
}
