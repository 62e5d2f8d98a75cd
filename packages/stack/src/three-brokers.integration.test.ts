import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { brokerNames } from './instances.ts';
import { kafkaMetadata } from './readiness.ts';
import { type Stack, startStack } from './stack.ts';

/** Longer than a broker that does not answer stays registered (3 s). */
const NOTICED_MS = 20_000;

describe('three brokers', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ jit: 'fast-start', brokers: 3 });
  });
  afterAll(() => stack?.stop());

  const ports = () => stack.endpoints.kafkaBootstrapServers.split(',').map((server) => Number(server.split(':')[1]));
  const brokersSeenBy = async (port: number) => [...(await kafkaMetadata(port)).brokers].sort();
  const pidOf = (name: string) => stack.processes.find((each) => each.name === name)?.pid;

  test('are one cluster, each with a process of its own, and Kafka was told as ready once all of them served', async () => {
    expect(stack.processes.map(({ name }) => name)).toEqual([...brokerNames(3), 'opensearch', 's3proxy']);
    expect(new Set(ports()).size).toBe(3);
    for (const port of ports()) expect(await brokersSeenBy(port)).toEqual([1, 2, 3]);
  });

  test('go on as two while one that was killed is away, and are three again behind it', async () => {
    const [first = 0, second = 0, third = 0] = ports();
    const before = pidOf('kafka-2');
    await stack.restart('kafka-2', 'kill', async () => {
      await expect(kafkaMetadata(second)).rejects.toThrow('ECONNREFUSED');
      for (const port of [first, third]) {
        await vi.waitFor(async () => expect(await brokersSeenBy(port)).toEqual([1, 3]), { timeout: NOTICED_MS, interval: 200 });
      }
      await vi.waitFor(async () => expect([1, 3]).toContain((await kafkaMetadata(first)).controllerId), { timeout: NOTICED_MS });
    });
    expect(pidOf('kafka-2')).not.toBe(before);
    for (const port of ports()) {
      await vi.waitFor(async () => expect(await brokersSeenBy(port)).toEqual([1, 2, 3]), { timeout: NOTICED_MS, interval: 200 });
    }
  });

  test('are gone when the stack has stopped', async () => {
    const left = ports();
    await stack.stop();
    expect(existsSync(stack.folder)).toBe(false);
    for (const port of left) await expect(kafkaMetadata(port)).rejects.toThrow('ECONNREFUSED');
  });
});
