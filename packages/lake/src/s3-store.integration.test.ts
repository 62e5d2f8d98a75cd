import { randomUUID } from 'node:crypto';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, describe, expect, it } from 'vitest';
import type { LakeLayout } from './object-names.ts';
import { provePutIfAbsent } from './prove-put-if-absent.ts';
import { type S3Settings, S3Store } from './s3-store.ts';
import { MemoryStore } from './testing/index.ts';

const { endpointUrl, region, bucket, accessKeyId, secretAccessKey } = endpointsFromEnvironment().s3;
const s3: S3Settings = { endpoint: endpointUrl, region, bucket, accessKeyId, secretAccessKey };
const store = new S3Store(s3);
const prefix = `s3-store-${randomUUID()}`;
const lake: LakeLayout = { prefix, stream: 'service-events' };
afterAll(() => store.close());

async function keys(under: string, startAfter?: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of store.list(under, startAfter === undefined ? {} : { startAfter })) found.push(key);
  return found;
}

describe('the S3 store', () => {
  it('writes once, and tells whether it did', async () => {
    const key = `${prefix}/once`;
    expect(await store.putIfAbsent(key, Buffer.from('first'))).toBe('created');
    expect(await store.putIfAbsent(key, Buffer.from('second'))).toBe('exists');
    expect((await store.get(key))?.toString()).toBe('first');
    expect(await store.sizeBytes(key)).toBe(5);
    expect((await store.getRange(key, 1, 3))?.toString()).toBe('ir');
  });

  it('has exactly one winner among twelve writers at once, round after round', async () => {
    for (let round = 0; round < 10; round++) {
      const key = `${prefix}/race-${round}`;
      const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => store.putIfAbsent(key, Buffer.alloc(1000 + i, i))));
      expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
      expect((await store.get(key))?.length).toBe(1000 + answers.indexOf('created'));
    }
  });

  it('tells an object that is not there from a bucket that is not there', async () => {
    expect(await store.get(`${prefix}/nothing`)).toBeUndefined();
    expect(await store.getRange(`${prefix}/nothing`, 0, 10)).toBeUndefined();
    expect(await store.sizeBytes(`${prefix}/nothing`)).toBeUndefined();
    const elsewhere = new S3Store({ ...s3, bucket: `no-such-bucket-${randomUUID()}` });
    for (const ask of [() => elsewhere.get('k'), () => elsewhere.sizeBytes('k'), () => elsewhere.putIfAbsent('k', Buffer.from('x'))])
      await expect(ask()).rejects.toThrow('does not exist: make it, or name another');
    elsewhere.close();
  });

  it('says in one sentence what is wrong with the keys, or with the way to the server', async () => {
    const stranger = new S3Store({ ...s3, accessKeyId: 'nobody', secretAccessKey: 'wrong' });
    await expect(stranger.get(`${prefix}/once`)).rejects.toThrow('check the access key, its secret and its rights');
    stranger.close();
    const nowhere = new S3Store({ ...s3, endpoint: 'http://127.0.0.1:1' });
    await expect(nowhere.sizeBytes(`${prefix}/once`)).rejects.toThrow('can not be reached to look up');
    nowhere.close();
  });

  it('lists in the order of the keys, behind a key, and over more than one page', async () => {
    const names = Array.from({ length: 1100 }, (_, i) => `${prefix}/many/${String(i).padStart(6, '0')}`);
    for (let i = 0; i < names.length; i += 50)
      await Promise.all(names.slice(i, i + 50).map((key) => store.putIfAbsent(key, Buffer.from('x'))));
    expect(await keys(`${prefix}/many/`)).toEqual(names);
    expect(await keys(`${prefix}/many/`, names[1000])).toEqual(names.slice(1001));
    expect(await keys(`${prefix}/none/`)).toEqual([]);
  });

  it('carries 20 MiB there and back', async () => {
    const body = Buffer.alloc(20 * 2 ** 20, 'tailrace');
    expect(await store.putIfAbsent(`${prefix}/large`, body)).toBe('created');
    expect((await store.get(`${prefix}/large`))?.equals(body)).toBe(true);
  });
});

describe('the start-up proof', () => {
  it('passes on this store, and leaves nothing behind', async () => {
    await provePutIfAbsent(store, lake);
    expect(await keys(`${prefix}/_scratch/`)).toEqual([]);
  });

  it('refuses a store that ignores the condition, and one that lets racing writers win', async () => {
    class Careless extends MemoryStore {
      override async putIfAbsent(key: string, body: Buffer): Promise<'created' | 'exists'> {
        this.objects.set(key, body);
        return 'created';
      }
    }
    await expect(provePutIfAbsent(new Careless(), lake)).rejects.toThrow('8 of 8 writers of one key were told that they had made it');
    class CheckThenAct extends MemoryStore {
      override async putIfAbsent(key: string, body: Buffer): Promise<'created' | 'exists'> {
        if ((await this.get(key)) !== undefined) return 'exists';
        await new Promise((resolve) => setImmediate(resolve));
        this.objects.set(key, body);
        return 'created';
      }
    }
    await expect(provePutIfAbsent(new CheckThenAct(), lake)).rejects.toThrow('does not honour put-if-absent');
  });
});
