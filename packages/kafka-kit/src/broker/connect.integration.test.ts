import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { RealKafka } from '../testing/real-kafka.ts';
import { createNativeProducer, DEFAULT_PRODUCER_SETTINGS } from './native-producer.ts';

const real = new RealKafka('connect');
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listening(server: Server): Promise<string> {
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const producerAt = (bootstrapServers: string) => createNativeProducer({ ...real.settings, bootstrapServers }, DEFAULT_PRODUCER_SETTINGS);

test('a stop ends a connect to a cluster that is silent, long before its time is over', async () => {
  const silent = createServer();
  const producer = producerAt(await listening(silent));
  const stop = new AbortController();
  const connected = once(silent, 'connection');
  const connecting = producer.connect(() => {}, stop.signal).catch((fault: Error) => fault.name);
  await connected;
  const begunMs = performance.now();
  stop.abort();
  expect(await connecting).toBe('BrokerError');
  expect(performance.now() - begunMs).toBeLessThan(2_000);
});

test('a cluster that answers only after several looks is reached by the same connect', async () => {
  const [host, port] = (real.settings.bootstrapServers.split(',')[0] ?? '').split(':');
  const slow = createServer(async (near) => {
    const far = createConnection(Number(port), host);
    for (const socket of [near, far]) socket.on('error', () => undefined); // The client closes its bootstrap connection as it likes.
    near.on('close', () => far.destroy());
    await sleep(1_500); // Not a wait for something: this is how slow the link is.
    near.pipe(far).pipe(near);
  });
  const producer = producerAt(await listening(slow));
  await producer.connect(() => {});
  expect(await producer.answers(2_000)).toBe(true);
  await producer.close(1_000);
});
