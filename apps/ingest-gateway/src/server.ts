import type { AddressInfo } from 'node:net';
import type { Publisher } from '@tailrace/kafka-kit';
import { listenFault, type Metrics, PROBE_PATHS, type Probes, urlOf } from '@tailrace/service';
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { ByteBudget } from './admission/budget.ts';
import { type Answer, type AnswerCode, answer, internalFault } from './answers.ts';
import { answerBrokenRequest, answerInOwnForm, JSON_TYPE, textOf } from './broken-requests.ts';
import type { GatewayConfig } from './config.ts';
import { ingest } from './ingest.ts';
import { bodyFormatOf, TYPE_OF } from './intake/body-format.ts';
import { createGatewayMetrics } from './metrics.ts';
import type { PostWatch } from './post-watch.ts';

export const EVENTS_PATH = '/v1/events';

export interface GatewayOptions {
  readonly config: Omit<GatewayConfig, 'service' | 'kafka'>;
  readonly topic: string;
  readonly publisher: Pick<Publisher, 'publish' | 'inFlightBytes' | 'maxInFlightBytes'>;
  readonly metrics: Metrics;
  readonly probes: Probes;
  /** Is told how each post was answered. */
  readonly watch: PostWatch;
  /** Why no post can be taken now, or undefined. */
  closedBecause(): AnswerCode | undefined;
}

export interface Gateway {
  readonly url: string;
  /** Takes no new posts, answers those that are in flight, closes the connections; by `limitMs` it closes them unanswered. */
  stop(limitMs: number): Promise<void>;
}

/** The HTTP side: routes, time limits, and every answer in the gateway's own form. */
export function createGateway(options: GatewayOptions): { readonly app: FastifyInstance; stopTaking(): void } {
  const { config, watch } = options;
  const budget = new ByteBudget(config.maxInFlightBytes);
  const metrics = createGatewayMetrics(options.metrics, () => budget.usedBytes);
  let stopping = false;
  const app = fastify({
    logger: false,
    requestTimeout: config.requestTimeoutMs,
    keepAliveTimeout: config.keepAliveMs,
    // A client that neither sends nor reads while its post is in flight loses its connection.
    connectionTimeout: config.requestTimeoutMs + config.deadlineMs,
    // Half-open requests (slow loris) are looked for this often.
    http: {
      headersTimeout: Math.ceil(config.requestTimeoutMs / 3),
      connectionsCheckingInterval: 1_000,
      // Node would answer without a body; a request without one is answered below.
      requireHostHeader: false,
    },
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (_fault, _request, reply) => void send(reply, answer('bad_request')),
  });
  app.server.maxConnections = config.maxConnections;
  answerInOwnForm(app.server);
  // The body stays a stream of bytes for `ingest`, whatever its type is called.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      return send(reply.header('connection', 'close'), answer('missing_host'));
    }
    if (request.is404) return send(reply, unknownRoute(request.url));
    // A type that does not parse is an unknown type like any other; the framework would answer it with 415.
    request.raw.headers['content-type'] = TYPE_OF[bodyFormatOf(request.headers['content-type'])];
    return undefined;
  });
  app.addHook('onSend', async (_request, reply) => {
    if (stopping) reply.header('connection', 'close');
  });
  app.setErrorHandler((fault, _request, reply) => {
    const answered = internalFault(fault);
    watch.answered(answered, fault);
    return send(reply, answered);
  });
  app.setNotFoundHandler((request, reply) => send(reply, unknownRoute(request.url)));

  app.post(EVENTS_PATH, async (request, reply) => {
    const answered = await ingest(request.raw, {
      ...options,
      ...config,
      budget,
      metrics,
      closedBecause: () => (stopping ? 'stopping' : options.closedBecause()),
    });
    if (answered === undefined) {
      reply.hijack();
      request.raw.socket.destroy();
      return reply;
    }
    return send(reply, answered);
  });
  for (const path of PROBE_PATHS) {
    app.get(path, async (_request, reply) => {
      const { status, contentType, body } = await options.probes[path]();
      return reply.code(status).headers({ 'content-type': contentType, 'cache-control': 'no-store' }).send(body);
    });
  }
  return {
    app,
    stopTaking() {
      stopping = true;
    },
  };
}

/** The part of the time for a stop after which connections are closed without an answer, so that the stop itself keeps its time. */
const UNANSWERED_AFTER = 0.9;

/** Starts the gateway on its port. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, port } = options.config;
  const { app, stopTaking } = createGateway(options);
  try {
    await app.listen({ host, port });
  } catch (fault) {
    await app.close();
    throw listenFault(fault as Error, host, port, 'GATEWAY_HOST or GATEWAY_PORT');
  }
  return {
    url: urlOf(host, (app.server.address() as AddressInfo).port),
    async stop(limitMs) {
      stopTaking();
      const timer = setTimeout(() => app.server.closeAllConnections(), limitMs * UNANSWERED_AFTER);
      await app.close();
      clearTimeout(timer);
    },
  };
}

const ALLOWED: Readonly<Record<string, string>> = {
  [EVENTS_PATH]: 'POST',
  ...Object.fromEntries(PROBE_PATHS.map((path) => [path, 'GET, HEAD'])),
};

/** Routes exist per method, so a known path comes here with a method that it does not take. */
function unknownRoute(url: string): Answer {
  const path = url.split('?', 1)[0]?.replace(/\/+$/, '') ?? '';
  const allow = Object.hasOwn(ALLOWED, path) ? ALLOWED[path] : undefined;
  return allow === undefined ? answer('not_found') : answer('method_not_allowed', `It takes ${allow}.`, { allow });
}

function send(reply: FastifyReply, { status, headers, body }: Answer): FastifyReply {
  return reply
    .code(status)
    .headers({ ...JSON_TYPE, ...headers })
    .send(textOf(body));
}
