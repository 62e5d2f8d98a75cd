import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RowFile } from '@tailrace/lake';

const FOLDER = /^spool-(\d+)$/;

/** The data folder is none that rows can be gathered in. */
export class SpoolUnusable extends Error {
  constructor(folder: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`Rows can not be gathered in ${folder} (${why}): set ARCHIVER_DATA_DIR to a folder that this user may write to.`, { cause });
    this.name = 'SpoolUnusable';
  }
}

/**
 * The folder in which this process gathers rows before they become objects. Nothing in it is ever read by another process: after a
 * crash the ledger is the truth and Kafka is read again, so nothing is synced, and what dead processes left is removed at the start.
 */
export class Spool {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Removes what dead processes left below `dataFolder`, and makes a folder for this one. */
  static async open(dataFolder: string): Promise<Spool> {
    const folder = join(dataFolder, `spool-${process.pid}`);
    try {
      await makeFolder(dataFolder);
      for (const name of await readdir(dataFolder)) {
        const pid = FOLDER.exec(name)?.[1];
        // Our own number was another process before us: in a container it is always the same.
        if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid))))
          await rm(join(dataFolder, name), { recursive: true });
      }
      await mkdir(folder);
    } catch (cause) {
      throw new SpoolUnusable(dataFolder, cause);
    }
    return new Spool(folder);
  }

  /** A new row file. */
  async rows(): Promise<RowFile> {
    // Somebody may have cleaned up around us: without it no lane would ever go on.
    await makeFolder(this.folder);
    return await RowFile.create(join(this.folder, `${randomUUID()}.rows`));
  }

  /** A path for a new Parquet file. */
  parquetPath(): string {
    return join(this.folder, `${randomUUID()}.parquet`);
  }

  /** Free bytes of its disk, for a process without privileges. */
  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.folder);
    return bavail * bsize;
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Not `mkdir` with `recursive`: below /proc that one tries again without end. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // It is there; whether it is a folder is seen when it is listed.
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, and belongs to somebody else. Only ESRCH says that there is none.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
