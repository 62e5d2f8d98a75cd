import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Endpoints, quietAwsSdk } from './config.ts';
import { kafkaMetadata } from './readiness.ts';
import { type Stack, startStack } from './stack.ts';
import type { Failure } from './toolchain/failure.mjs';

quietAwsSdk();
const stacks: Stack[] = [];

async function start(options: Partial<Parameters<typeof startStack>[0]> = {}): Promise<Stack> {
  const stack = await startStack({ jit: 'fast-start', ...options });
  stacks.push(stack);
  return stack;
}

function s3Client({ s3 }: Endpoints): S3Client {
  return new S3Client({ endpoint: s3.endpointUrl, region: s3.region, credentials: s3, forcePathStyle: true });
}

function kafkaPort(endpoints: Endpoints): number {
  return Number(endpoints.kafkaBootstrapServers.split(':')[1]);
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // ESRCH
  }
}

function pidOf(stack: Stack, name: string): number {
  return stack.processes.find((server) => server.name === name)?.pid ?? 0;
}

afterAll(async () => {
  await Promise.all(stacks.map((stack) => stack.stop()));
});

describe('a stack', () => {
  let stack: Stack;
  const ready: string[] = [];
  beforeAll(async () => {
    stack = await start({ serverReady: (name) => ready.push(name) });
  });

  test('has told of each server as it came', () => {
    expect([...ready].sort()).toEqual(['kafka', 'opensearch', 's3proxy']);
  });

  test('Kafka answers with one broker that is its own controller', async () => {
    expect(await kafkaMetadata(kafkaPort(stack.endpoints))).toEqual({ brokers: [1], controllerId: 1 });
  });

  test('OpenSearch keeps a document and finds it', async () => {
    const index = `${stack.endpoints.opensearchUrl}/stack-test`;
    const put = await fetch(`${index}/_doc/1?refresh=true`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ word: 'found' }),
    });
    expect(put.status).toBe(201);
    const count = (await (await fetch(`${index}/_count?q=word:found`)).json()) as { count: number };
    expect(count.count).toBe(1);
  });

  test('the S3 server has the bucket, lets one writer win, and knows no other credentials', async () => {
    const client = s3Client(stack.endpoints);
    const object = { Bucket: stack.endpoints.s3.bucket, Key: 'stack-test/one' };
    await client.send(new PutObjectCommand({ ...object, Body: 'first', IfNoneMatch: '*' }));
    await expect(client.send(new PutObjectCommand({ ...object, Body: 'second', IfNoneMatch: '*' }))).rejects.toMatchObject({
      $metadata: { httpStatusCode: 412 },
    });
    expect(await (await client.send(new GetObjectCommand(object))).Body?.transformToString()).toBe('first');
    const { endpoints } = stack;
    const stranger = s3Client({ ...endpoints, s3: { ...endpoints.s3, secretAccessKey: 'guessed' } });
    await expect(stranger.send(new ListObjectsV2Command({ Bucket: object.Bucket }))).rejects.toMatchObject({
      $metadata: { httpStatusCode: 403 },
    });
  });

  test.each(['orderly', 'kill'] as const)('a server is started again on its port with its data (%s)', async (how) => {
    const before = pidOf(stack, 's3proxy');
    const client = s3Client(stack.endpoints);
    const object = { Bucket: stack.endpoints.s3.bucket, Key: `stack-test/${how}` };
    await client.send(new PutObjectCommand({ ...object, Body: how }));
    await stack.restart('s3proxy', how);
    expect(pidOf(stack, 's3proxy')).not.toBe(before);
    expect(await (await client.send(new GetObjectCommand(object))).Body?.transformToString()).toBe(how);
  });

  test('Kafka comes back after a kill', async () => {
    await stack.restart('kafka', 'kill');
    expect(await kafkaMetadata(kafkaPort(stack.endpoints))).toEqual({ brokers: [1], controllerId: 1 });
  });

  test('is gone when it has stopped: processes, ports, folder', async () => {
    const pids = stack.processes.map(({ pid }) => pid);
    await stack.stop();
    expect(pids.filter(lives)).toEqual([]);
    expect(existsSync(stack.folder)).toBe(false);
    expect(await listens(kafkaPort(stack.endpoints))).toBe(false);
    expect(await listens(portOf(stack.endpoints.opensearchUrl))).toBe(false);
    expect(await listens(portOf(stack.endpoints.s3.endpointUrl))).toBe(false);
  });
});

test('when a server dies, everything else is ended, and what happened is told with the end of its log', async () => {
  const stack = await start();
  const pids = stack.processes.map(({ pid }) => pid);
  process.kill(pidOf(stack, 'opensearch'), 'SIGKILL');
  const failure: Failure = await stack.failed;
  expect(failure.message).toBe('OpenSearch ended by itself with signal SIGKILL: see the end of its log.');
  expect(existsSync(failure.logFile ?? '')).toBe(true);
  expect(failure.logTail).toContain('tailrace-1');
  expect(pids.filter(lives)).toEqual([]);
  expect(existsSync(stack.folder)).toBe(false);
});

test('a server that dies is started again where that is asked for, but not for ever', async () => {
  const reports: string[] = [];
  const stack = await start({ whenServerDies: 'restart', report: (line) => reports.push(line) });
  for (let deaths = 1; deaths <= 3; deaths++) {
    const before = pidOf(stack, 's3proxy');
    process.kill(before, 'SIGKILL');
    await vi.waitFor(() => expect(reports.filter((line) => line === 's3proxy answers again')).toHaveLength(deaths), { timeout: 20_000 });
    expect(pidOf(stack, 's3proxy')).not.toBe(before);
  }
  process.kill(pidOf(stack, 's3proxy'), 'SIGKILL');
  expect((await stack.failed).message).toMatch(/^The S3 server \(s3proxy\) ended by itself with signal SIGKILL/);
});

test('a start that is stopped halfway leaves nothing', async () => {
  const stop = new AbortController();
  let folder = '';
  const starting = start({
    signal: stop.signal,
    serverReady: (_, place) => {
      folder = place.folder;
      stop.abort(new Error('stopped'));
    },
  });
  await expect(starting).rejects.toThrow('stopped');
  expect(folder).not.toBe('');
  expect(existsSync(folder)).toBe(false);
});

describe('a data folder', () => {
  const data = mkdtempSync(join(tmpdir(), 'stack-data-test-'));
  afterAll(() => {
    rmSync(data, { recursive: true, force: true });
  });

  test('keeps objects and documents for the next stack, and is refused to a second one meanwhile', async () => {
    const first = await start({ dataFolder: data });
    expect(first.folder).toBe(data);
    const { endpoints } = first;
    await s3Client(endpoints).send(new PutObjectCommand({ Bucket: endpoints.s3.bucket, Key: 'kept', Body: 'kept' }));
    await fetch(`${endpoints.opensearchUrl}/kept/_doc/1`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    });
    await expect(start({ dataFolder: data })).rejects.toThrow(`The data folder ${data} is in use by another start`);
    await first.stop();

    const second = await start({ dataFolder: data });
    const object = await s3Client(second.endpoints).send(new GetObjectCommand({ Bucket: endpoints.s3.bucket, Key: 'kept' }));
    expect(await object.Body?.transformToString()).toBe('kept');
    expect((await fetch(`${second.endpoints.opensearchUrl}/kept/_doc/1`)).status).toBe(200);
    expect((await kafkaMetadata(kafkaPort(second.endpoints))).brokers).toEqual([1]);
    await second.stop();
    expect(existsSync(join(data, 's3'))).toBe(true);
  });
});
