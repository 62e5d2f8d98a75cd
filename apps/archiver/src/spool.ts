import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RowFile } from '@tailrace/lake';

const FOLDER = /^spool-(\d+)$/;

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
    await mkdir(dataFolder, { recursive: true });
    for (const name of await readdir(dataFolder)) {
      const pid = FOLDER.exec(name)?.[1];
      // Our own number was another process before us: in a container it is always the same.
      if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid))))
        await rm(join(dataFolder, name), { recursive: true });
    }
    const folder = join(dataFolder, `spool-${process.pid}`);
    await mkdir(folder);
    return new Spool(folder);
  }

  /** A new row file. */
  async rows(): Promise<RowFile> {
    return await RowFile.create(join(this.folder, `${randomUUID()}.rows`));
  }

  /** A path for a new Parquet file. */
  parquetPath(): string {
    return join(this.folder, `${randomUUID()}.parquet`);
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
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
