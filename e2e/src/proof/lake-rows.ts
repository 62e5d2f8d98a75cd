import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ChainId,
  Database,
  fetchObjects,
  type LakeLayout,
  type LakeRecord,
  listDataObjects,
  readFooter,
  readParquet,
  S3Store,
  storeBuffer,
} from '@tailrace/lake';
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

/** How many rows all Parquet objects hold, by their footers. Objects never change: those in `known`, by key, are not opened again. */
export async function countRows(settings: S3Settings, lake: LakeLayout, known = new Map<string, number>()): Promise<number> {
  return await withStore(settings, async (store) => {
    let rows = 0;
    for (const object of await listDataObjects(store, lake)) {
      const own = known.get(object.key) ?? (await footerOf(store, object)).rows;
      known.set(object.key, own);
      rows += own;
    }
    return rows;
  });
}

/** Every row of the lake, restored to the bytes that it had in Kafka. */
export async function readLake(settings: S3Settings, lake: LakeLayout): Promise<LakeContent> {
  const rows: LakeRow[] = [];
  const size = await walkLake(settings, lake, ({ incarnation, partition }, { offset, value }) => {
    rows.push({ place: placeOf(incarnation, partition, offset), value: value ?? Buffer.alloc(0) });
  });
  return { rows, ...size };
}

/**
 * Shows every row of the lake, restored to what it was in Kafka: objects in the order of their partitions and first offsets, rows in the
 * order in which they stand in their object.
 */
export async function walkLake(
  settings: S3Settings,
  lake: LakeLayout,
  visit: (chain: ChainId, row: LakeRecord) => void,
): Promise<{ readonly objects: number; readonly bytes: number }> {
  return await withStore(settings, async (store) => {
    const objects = await listDataObjects(store, lake);
    const folder = await mkdtemp(join(tmpdir(), 'tailrace-e2e-lake-'));
    const database = await Database.open({ tempFolder: folder });
    try {
      const files = await fetchObjects(store, objects, folder);
      const described = await Promise.all(
        objects.map(async (object, i) => ({ file: files[i] ?? '', ...(await footerOf(store, object)).description })),
      );
      described.sort((a, b) => a.partition - b.partition || a.first - b.first);
      for (const { file, ...description } of described) {
        for await (const batch of readParquet(database, file, description)) for (const row of batch) visit(description, row);
      }
    } finally {
      database.close();
      await rm(folder, { recursive: true, force: true });
    }
    return { objects: objects.length, bytes: objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
  });
}

function footerOf(store: S3Store, { key, sizeBytes }: { readonly key: string; readonly sizeBytes: number }) {
  return readFooter(key, storeBuffer(store, key, sizeBytes));
}
