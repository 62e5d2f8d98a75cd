import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type BrokerCount, brokerNames } from './instances.ts';
import { type Lifeline, startJanitor } from './lifeline.ts';
import {
  checkDataFolder,
  lockFileOf,
  lockHolderLives,
  ORIGIN,
  requireSpace,
  takenFailure,
  unusableFailure,
} from './toolchain/data-folder.mjs';
import { Failure } from './toolchain/failure.mjs';
import { makeFolder } from './toolchain/make-folder.mjs';

/** Where a stack keeps things. */
export interface Folders {
  /** Holds the data; the data folder that was asked for, else the scratch folder. */
  readonly data: string;
  /** Holds what is never kept: settings, unpacked libraries. Removed by the janitor. */
  readonly scratch: string;
  readonly logs: string;
  /** Kafka's name for the cluster whose data lies here: its brokers must agree on it. */
  readonly clusterId: string;
  readonly lifeline: Lifeline;
}

/** Makes the folders of a stack and the janitor that removes them. @throws Failure when they can not be used, with the reason. */
export function makeFolders(dataFolder: string | undefined, openSearch: 2 | 3, brokers: BrokerCount = 1): Folders {
  const kept = dataFolder === undefined ? undefined : resolve(dataFolder);
  if (kept !== undefined) checkDataFolder(kept, brokers);
  const scratch = makeScratchFolder();
  const lockFile = kept === undefined ? undefined : lockFileOf(kept);
  const lifeline = startJanitor(scratch, lockFile);
  try {
    if (kept !== undefined && lockFile !== undefined) {
      takeFolder(kept, lockFile, lifeline);
      checkOrigin(kept, openSearch);
    }
    const data = kept ?? scratch;
    const logs = join(data, 'logs');
    for (const folder of [
      logs,
      join(scratch, 'settings'),
      join(scratch, 'tmp'),
      ...brokerNames(brokers).map((name) => join(data, name)),
      join(data, 'opensearch'),
      join(data, 's3'),
    ]) {
      makeFolder(folder);
    }
    return { data, scratch, logs, clusterId: clusterIdIn(data), lifeline };
  } catch (failed) {
    void lifeline.release(0);
    throw kept === undefined || failed instanceof Failure ? failed : unusableFailure(kept, failed);
  }
}

/** Kept, and not only written into each broker's data: a start that was killed early may have left some of them without any. */
function clusterIdIn(data: string): string {
  const file = join(data, 'kafka-cluster-id');
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  // A UUID in base64url, as Kafka writes it. Its command line takes none that begins with a dash.
  const id = randomBytes(16).toString('base64url').replace(/^-/, 'A');
  writeFileSync(file, `${id}\n`);
  return id;
}

/** A new folder among the system's temporary ones. @throws Failure when there can be none */
export function makeScratchFolder(): string {
  const base = tmpdir();
  try {
    requireSpace(base, 'set TMPDIR to a folder on another disk');
    return mkdtempSync(join(base, 'tailrace-'));
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    throw new Failure(`The temporary folder ${base} can not be used (${code}): set TMPDIR to another one.`, { exitCode: 2, cause });
  }
}

function checkOrigin(folder: string, openSearch: 2 | 3): void {
  const file = join(folder, ORIGIN);
  const wrote = existsSync(file) ? Number(readFileSync(file, 'utf8')) : openSearch;
  if (wrote > openSearch) {
    throw new Failure(
      `The data folder ${folder} was written by OpenSearch ${wrote}, which version ${openSearch} can not read: use a newer Java, or name another folder.`,
    );
  }
  writeFileSync(file, `${openSearch}\n`);
}

/**
 * The lock holds the janitor's process id: it lives exactly as long as somebody uses the folder, and removes the lock when it ends.
 * Behind it the lifeline's inode, which tells who they are.
 */
function takeFolder(folder: string, lockFile: string, { janitorPid, inode = 0 }: Lifeline): void {
  try {
    if (!lockHolderLives(lockFile)) rmSync(lockFile, { force: true });
    writeFileSync(lockFile, `${janitorPid} ${inode}\n`, { flag: 'wx' });
  } catch (cause) {
    // Two starts at once: both found it free, and the other one was quicker.
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') throw takenFailure(folder);
    throw unusableFailure(folder, cause);
  }
}
