import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FileDamage, GONE } from './file-damage.ts';
import { dataPrefix, hourFolder, type LakeLayout, parseDataKey } from './object-names.ts';
import type { ListedObject, ObjectStore } from './object-store.ts';

/** Broker times `[fromMs, toMs)` in ms since 1970; open where undefined. */
export interface TimeWindow {
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

const FETCHES_AT_ONCE = 4;

/**
 * The data objects of a lake whose hour meets the window: no row of the others arrived in it. A listing may also show uploads that
 * still go on, under longer names: those are no data.
 */
export async function listDataObjects(store: ObjectStore, lake: LakeLayout, window: TimeWindow = {}): Promise<readonly ListedObject[]> {
  const objects: ListedObject[] = [];
  const startAfter = window.fromMs === undefined ? undefined : `${dataPrefix(lake)}${hourFolder(window.fromMs)}`;
  // The last hour that the window reaches into: `toMs` itself lies behind it.
  const last = window.toMs === undefined ? undefined : hourFolder(window.toMs - 1);
  for await (const object of store.list(dataPrefix(lake), startAfter === undefined ? {} : { startAfter })) {
    const name = parseDataKey(lake, object.key);
    if (name === undefined) continue;
    // In the order of their keys: nothing behind this one is of an earlier hour.
    if (last !== undefined && `dt=${name.day}/hour=${name.hour}` > last) break;
    objects.push(object);
  }
  return objects;
}

/**
 * Copies objects below `folder` under their keys, so that `dt=` and `hour=` stay folders. Returns the files' paths. When one fails, it
 * rejects after all others have ended: nothing is written any more into a folder that the caller then removes.
 */
export async function fetchObjects(store: ObjectStore, objects: readonly ListedObject[], folder: string): Promise<readonly string[]> {
  const waiting = [...objects];
  const worker = async (): Promise<void> => {
    for (let object = waiting.shift(); object !== undefined; object = waiting.shift()) {
      try {
        await fetchObject(store, object.key, join(folder, object.key));
      } catch (error) {
        waiting.length = 0;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: FETCHES_AT_ONCE }, worker));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
  return objects.map(({ key }) => join(folder, key));
}

async function fetchObject(store: ObjectStore, key: string, path: string): Promise<void> {
  const body = await store.get(key);
  if (body === undefined) throw new FileDamage(key, GONE);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, body);
}
