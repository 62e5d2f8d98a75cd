import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
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
  readonly lifeline: Lifeline;
}

/** Makes the folders of a stack and the janitor that removes them. @throws Failure when they can not be used, with the reason. */
export function makeFolders(dataFolder: string | undefined, openSearch: 2 | 3): Folders {
  const kept = dataFolder === undefined ? undefined : resolve(dataFolder);
  if (kept !== undefined) checkDataFolder(kept);
  const scratch = makeScratchFolder();
  const lockFile = kept === undefined ? undefined : lockFileOf(kept);
  const lifeline = startJanitor(scratch, lockFile);
  try {
    if (kept !== undefined && lockFile !== undefined) {
      takeFolder(kept, lockFile, lifeline.janitorPid);
      checkOrigin(kept, openSearch);
    }
    const data = kept ?? scratch;
    const logs = join(data, 'logs');
    for (const folder of [
      logs,
      join(scratch, 'settings'),
      join(scratch, 'tmp'),
      join(data, 'kafka'),
      join(data, 'opensearch'),
      join(data, 's3'),
    ]) {
      makeFolder(folder);
    }
    return { data, scratch, logs, lifeline };
  } catch (failed) {
    void lifeline.release(0);
    throw kept === undefined || failed instanceof Failure ? failed : unusableFailure(kept, failed);
  }
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

/** The lock holds the janitor's process id: it lives exactly as long as somebody uses the folder, and removes the lock when it ends. */
function takeFolder(folder: string, lockFile: string, janitorPid: number): void {
  try {
    if (!lockHolderLives(lockFile)) rmSync(lockFile, { force: true });
    writeFileSync(lockFile, `${janitorPid}\n`, { flag: 'wx' });
  } catch (cause) {
    // Two starts at once: both found it free, and the other one was quicker.
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') throw takenFailure(folder);
    throw unusableFailure(folder, cause);
  }
}
