import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { connectionsTo } from './config.ts';
import type { Pipeline } from './pipeline.ts';
import { ProgressReader } from './progress.ts';

const sockets = new Set<Socket>();
const server = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => {}); // Whoever gives up resets.
});
afterEach(() => {
  server.close();
  for (const socket of sockets) socket.destroy();
});

/** More than a look's patience, by what a loaded machine needs. */
const PATIENT_MS = 8000;

it('servers that take a connection and say nothing hold up neither a look nor the end', async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `http://${address}`;
  const s3 = { endpointUrl: url, region: 'r', accessKeyId: 'a', secretAccessKey: 's', bucket: 'b' };
  const endpoints = { kafkaBootstrapServers: address, opensearchUrl: url, s3 };
  const reader = new ProgressReader({
    stack: { endpoints },
    connections: connectionsTo(endpoints, { servers: 'own', brokers: 1 }),
    service: () => ({ pid: 1, url: () => url }),
    started: () => ({ url: () => url }),
  } as unknown as Pipeline);
  const begunMs = performance.now();
  // As the live view looks: each second, but with more patience.
  for (let look = 1; look <= 4; look += 1) {
    const { gateway, indexed, archived, alerts, lag } = await reader.read(500);
    // Without its patience a look would take until the server says something.
    expect(performance.now() - begunMs).toBeLessThan(look * 500 + PATIENT_MS);
    const silent = [
      gateway.silentSeconds,
      alerts.silentSeconds,
      ...[indexed, archived, ...lag.values()].map(({ silentSeconds }) => silentSeconds),
    ];
    expect(silent).toHaveLength(7);
    if (look === 4) expect(Math.min(...silent.map((seconds) => seconds ?? 0))).toBeGreaterThanOrEqual(2);
  }
  expect(sockets.size).toBeGreaterThan(3);
  const closingMs = performance.now();
  await reader.close();
  expect(performance.now() - closingMs).toBeLessThan(PATIENT_MS);
});
