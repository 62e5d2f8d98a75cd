import { randomUUID } from 'node:crypto';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FileDamage } from './file-damage.ts';
import { readFooter } from './footer.ts';
import { StoreError, storeBuffer } from './object-store.ts';
import { S3Store } from './s3-store.ts';
import { FaultyProxy, type ProxyFault } from './testing/index.ts';

const { endpointUrl, ...s3 } = endpointsFromEnvironment().s3;
const prefix = `s3-faults-${randomUUID()}`;
const MIB = 2 ** 20;
let proxy: FaultyProxy;
let store: S3Store;
const direct = new S3Store({ ...s3, endpoint: endpointUrl });

beforeAll(async () => {
  proxy = await FaultyProxy.open(endpointUrl);
  store = new S3Store({ ...s3, endpoint: proxy.url });
});
afterEach(() => {
  proxy.fault = () => ({ kind: 'none' });
});
afterAll(async () => {
  store.close();
  direct.close();
  await proxy.close();
});

/** The next requests meet these faults, one each; those behind them meet none. */
function next(...faults: ProxyFault[]): void {
  proxy.fault = () => faults.shift() ?? { kind: 'none' };
}
const always = (kind: 'refused' | 'dropped' | 'lost' | 'hung'): void => {
  proxy.fault = () => ({ kind });
};
async function listed(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}
const requests = (key: string): [string, () => Promise<unknown>][] => [
  ['putIfAbsent', () => store.putIfAbsent(key, Buffer.from('body'))],
  ['get', () => store.get(key)],
  ['getRange', () => store.getRange(key, 0, 2)],
  ['sizeBytes', () => store.sizeBytes(key)],
  ['list', listed],
];

describe('the S3 store, through a network that fails', () => {
  it('works when nothing fails, also with a large body', async () => {
    const key = `${prefix}/sound`;
    const body = Buffer.alloc(9 * MIB, 'x');
    expect(await store.putIfAbsent(key, body)).toBe('created');
    expect((await store.get(key))?.equals(body)).toBe(true);
    expect(await store.sizeBytes(key)).toBe(body.length);
    expect(await listed()).toEqual([key]);
  });

  it.each(['refused', 'dropped', 'lost'] as const)('answers nothing that it does not know where every request is %s', async (kind) => {
    const there = `${prefix}/there-${kind}`;
    await direct.putIfAbsent(there, Buffer.from('body'));
    for (const key of [there, `${prefix}/missing-${kind}`])
      for (const [name, ask] of requests(key)) {
        always(kind);
        await expect(ask(), `${name} ${key}`).rejects.toThrow(StoreError);
      }
  });

  it('passes over a fault of the moment by itself', async () => {
    const key = `${prefix}/moment`;
    await direct.putIfAbsent(key, Buffer.from('body'));
    for (const kind of ['refused', 'dropped'] as const) {
      next({ kind });
      expect((await store.get(key))?.toString(), kind).toBe('body');
      next({ kind });
      expect(await store.sizeBytes(key), kind).toBe(4);
    }
    next({ kind: 'slow', delayMs: 1_500 });
    expect((await store.get(key))?.toString()).toBe('body');
  });

  it('has written once where an answer was lost: the second attempt meets the first, and the body is whole', async () => {
    for (const size of [10, 3 * MIB]) {
      const key = `${prefix}/lost-answer-${size}`;
      const body = Buffer.alloc(size, 'y');
      next({ kind: 'lost' });
      // By its own second attempt, or by its caller's.
      const first = await store.putIfAbsent(key, body).catch(() => 'unknown');
      expect(['exists', 'unknown']).toContain(first);
      expect(await store.putIfAbsent(key, Buffer.from('other'))).toBe('exists');
      expect((await direct.get(key))?.equals(body)).toBe(true);
    }
  });

  it('calls bytes that do not fit their checksum a damaged object, where they come twice; once they were damaged on their way', async () => {
    const key = `${prefix}/flipped`;
    const body = Buffer.from('{"kind":"genesis"}');
    await direct.putIfAbsent(key, body);
    next({ kind: 'flipped' });
    expect(await store.get(key)).toEqual(body);
    next({ kind: 'flipped' }, { kind: 'flipped' });
    const damage = await store.get(key).catch((error: unknown) => error);
    expect(damage).toBeInstanceOf(FileDamage);
    expect(String(damage)).toContain(`${key} is damaged: its bytes do not fit the checksum`);
  });

  it('calls an object that is shorter than was asked for damaged, also an empty one', async () => {
    for (const size of [0, 3]) {
      const key = `${prefix}/short-${size}`;
      await direct.putIfAbsent(key, Buffer.alloc(size));
      await expect(store.getRange(key, 5, 9)).rejects.toBeInstanceOf(FileDamage);
      await expect(readFooter(key, storeBuffer(store, key, size))).rejects.toThrow(`it has ${size} bytes`);
    }
  });

  it('gives up a request that is never answered, and says so', async () => {
    always('hung');
    const startedMs = performance.now();
    await expect(store.putIfAbsent(`${prefix}/hung`, Buffer.from('x'))).rejects.toThrow(/gave no answer within 23 s to write/);
    expect(performance.now() - startedMs).toBeLessThan(30_000);
    expect(await direct.get(`${prefix}/hung`)).toBeUndefined();
  }, 60_000);
});
