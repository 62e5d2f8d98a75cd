import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range from which kernels take the ports of outgoing connections (Linux 32768, others 49152): such a connection can then
 * not take a server's port between our look and its start, nor while the server is being restarted.
 */
const LOWEST = 20_000;
const HIGHEST = 32_000;

/** Ports on loopback on which nothing listens, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > 1000)
      throw new Error(`No ${count} free ports were found between ${LOWEST} and ${HIGHEST} on 127.0.0.1: end what listens there.`);
    const port = randomInt(LOWEST, HIGHEST);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
