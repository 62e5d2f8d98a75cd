import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, fetchObjects, type LakeLayout, listDataObjects, readFooter, readParquet, S3Store, storeBuffer } from '@tailrace/lake';
import type { S3Settings } from '../pipeline/endpoints.ts';
import { type Place, placeOf } from './records.ts';

export interface LakeRow {
  readonly place: Place;
  readonly value: Buffer;
}

export interface LakeContent {
  readonly rows: readonly LakeRow[];
  readonly objects: number;
  readonly bytes: number;
}

async function withStore<T>(settings: S3Settings, work: (store: S3Store) => Promise<T>): Promise<T> {
  const store = new S3Store(settings);
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

/** How many rows all Parquet objects hold, by their footers. */
export async function countRows(settings: S3Settings, lake: LakeLayout): Promise<number> {
  return await withStore(settings, async (store) => {
    let rows = 0;
    for (const object of await listDataObjects(store, lake)) rows += (await footerOf(store, object)).rows;
    return rows;
  });
}

/** Every row of the lake, restored to the bytes that it had in Kafka. */
export async function readLake(settings: S3Settings, lake: LakeLayout): Promise<LakeContent> {
  return await withStore(settings, async (store) => {
    const objects = await listDataObjects(store, lake);
    const folder = await mkdtemp(join(tmpdir(), 'tailrace-e2e-lake-'));
    const database = await Database.open({ tempFolder: folder });
    const rows: LakeRow[] = [];
    try {
      const files = await fetchObjects(store, objects, folder);
      for (const [i, object] of objects.entries()) {
        const { description } = await footerOf(store, object);
        const { incarnation, partition } = description;
        for await (const batch of readParquet(database, files[i] ?? '', description)) {
          for (const { offset, value } of batch)
            rows.push({ place: placeOf(incarnation, partition, offset), value: value ?? Buffer.alloc(0) });
        }
      }
    } finally {
      database.close();
      await rm(folder, { recursive: true, force: true });
    }
    return { rows, objects: objects.length, bytes: objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
  });
}

function footerOf(store: S3Store, { key, sizeBytes }: { readonly key: string; readonly sizeBytes: number }) {
  return readFooter(key, storeBuffer(store, key, sizeBytes));
}
