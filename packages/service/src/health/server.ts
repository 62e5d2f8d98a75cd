import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listenFault, urlOf } from '../logs/listening.ts';
import { PROBE_PATHS, type ProbeAnswer, type Probes } from './probes.ts';

export interface HealthServer {
  readonly url: string;
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 64;

/** Serves the probes on a port of their own (0: any free one). */
export async function startHealthServer(probes: Probes, { host, port }: { host: string; port: number }): Promise<HealthServer> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, connectionsCheckingInterval: 1_000 }, (request, response) => {
    void answer(probes, request, response);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (fault) {
    throw listenFault(fault as Error, host, port, 'HEALTH_HOST or HEALTH_PORT');
  }
  return {
    url: urlOf(host, (server.address() as AddressInfo).port),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(probes: Probes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, contentType, body } = await answerOf(probes, request);
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function answerOf(probes: Probes, request: IncomingMessage): Promise<ProbeAnswer> {
  const path = PROBE_PATHS.find((known) => known === (request.url ?? '').split('?', 1)[0]);
  if (path === undefined) return plain(404, `Nothing is here; there are ${PROBE_PATHS.join(', ')}.`);
  if (request.method !== 'GET' && request.method !== 'HEAD') return plain(405, 'Only GET and HEAD are answered here.');
  try {
    return await probes[path]();
  } catch (fault) {
    // A metric's collect function may throw; the probe says so instead of leaving its asker without an answer.
    return plain(500, `This could not be read: ${fault instanceof Error ? fault.message : String(fault)}`);
  }
}

function plain(status: number, sentence: string): ProbeAnswer {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${sentence}\n` };
}
