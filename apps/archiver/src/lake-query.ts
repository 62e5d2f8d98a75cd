import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { TAILRACE } from '@tailrace/kafka-kit';
import {
  Database,
  damagedFile,
  FileDamage,
  fetchObjects,
  type LakeLayout,
  LakeQuery,
  type ListedObject,
  listDataObjects,
  type ObjectStore,
  type QueryResult,
  type TimeWindow,
} from '@tailrace/lake';
import { inTemporaryFolder } from './temporary-folder.ts';

const MIB = 1024 * 1024;
/** Of the free disk, so that a quarter of it stays free whatever is asked. */
const OBJECTS_SHARE = 0.5;
const SPILL_SHARE = 0.25;

/** More is to be fetched than there is room for. */
class NoRoom extends Error {
  constructor(objects: number, bytes: number, roomBytes: number, folder: string) {
    super(
      `The query needs ${objects} objects, ${inMib(bytes)}, and ${folder} has room for ${inMib(roomBytes)} (half of what is free): narrow the time with --from and --to, or set TMPDIR to a folder with more room.`,
    );
    this.name = 'NoRoom';
  }
}

function inMib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}

/**
 * Runs one SQL statement over the objects of the lake that the window meets, fetched into a temporary folder. The statement is checked before
 * anything is listed or fetched: throws QueryFault. `note` is told what is fetched; `freeBytes` looks how much room a folder has.
 */
export async function queryLake(
  store: ObjectStore,
  layout: LakeLayout,
  sql: string,
  window: TimeWindow,
  note: (text: string) => void,
  freeBytes: (folder: string) => Promise<number> = freeDiskBytes,
): Promise<QueryResult> {
  return await inTemporaryFolder(async (folder) => {
    const objectsFolder = join(folder, 'objects');
    const spill = join(folder, 'spill');
    const free = await freeBytes(folder);
    const database = await Database.open({ threads: 2, tempFolder: spill });
    try {
      const query = await LakeQuery.open(database, sql, { folder: objectsFolder, maxSpillBytes: free * SPILL_SHARE });
      try {
        const objects = await listDataObjects(store, layout, window);
        const bytes = objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
        if (bytes > free * OBJECTS_SHARE) throw new NoRoom(objects.length, bytes, free * OBJECTS_SHARE, folder);
        note(`fetching ${objects.length} ${objects.length === 1 ? 'object' : 'objects'}, ${inMib(bytes)}\n`);
        return await runOver(query, await fetched(store, objects, objectsFolder), window, { objectsFolder, spill });
      } finally {
        query.close();
      }
    } finally {
      database.close();
    }
  });
}

/** Without one of its objects a query would have a wrong result, so it has none. */
class DamagedLake extends Error {
  constructor(damage: FileDamage) {
    super(
      `${damage.message} The query has no result, because the rows of that object would be missing: leave its hour out with --from and --to, and see what else \`${TAILRACE} lake audit --deep\` finds.`,
      { cause: damage },
    );
    this.name = 'DamagedLake';
  }
}

async function fetched(store: ObjectStore, objects: readonly ListedObject[], folder: string): Promise<readonly string[]> {
  try {
    return await fetchObjects(store, objects, folder);
  } catch (error) {
    throw error instanceof FileDamage ? new DamagedLake(error) : error;
  }
}

async function runOver(
  query: LakeQuery,
  files: readonly string[],
  window: TimeWindow,
  { objectsFolder, spill }: { readonly objectsFolder: string; readonly spill: string },
): Promise<QueryResult> {
  try {
    return await query.run(files, window);
  } catch (error) {
    const damage = await damagedFile(files, objectsFolder, spill);
    throw damage === undefined ? error : new DamagedLake(damage);
  }
}

async function freeDiskBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
