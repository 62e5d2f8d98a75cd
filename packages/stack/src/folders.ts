import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Lifeline, startJanitor } from './lifeline.ts';
import { Failure } from './toolchain/failure.mjs';

/** Where a stack keeps things. */
export interface Folders {
  /** Holds the data; the data folder that was asked for, else the scratch folder. */
  readonly data: string;
  /** Holds what is never kept: settings, unpacked libraries. Removed by the janitor. */
  readonly scratch: string;
  readonly logs: string;
  readonly lifeline: Lifeline;
}

const LOCK = '.tailrace-in-use';
/** Says which line of OpenSearch wrote the data. */
const ORIGIN = 'opensearch-line';
/** OpenSearch refuses writes below 100 MB, and a start that ends that way explains itself badly. */
const NEEDED_FREE_BYTES = 500e6;

/** Makes the folders of a stack and the janitor that removes them. @throws Failure when they can not be used, with the reason. */
export function makeFolders(dataFolder: string | undefined, openSearch: 2 | 3): Folders {
  requireSpace(tmpdir(), 'set TMPDIR to a folder on another disk');
  const scratch = mkdtempSync(join(tmpdir(), 'tailrace-'));
  const kept = dataFolder === undefined ? undefined : resolve(dataFolder);
  const lockFile = kept === undefined ? undefined : join(kept, LOCK);
  const lifeline = startJanitor(scratch, lockFile);
  try {
    if (kept !== undefined && lockFile !== undefined) {
      takeFolder(kept, lockFile, lifeline.janitorPid);
      requireSpace(kept, 'name a folder on another disk');
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
      mkdirSync(folder, { recursive: true });
    }
    return { data, scratch, logs, lifeline };
  } catch (failed) {
    void lifeline.release(0);
    throw failed;
  }
}

function requireSpace(folder: string, otherwise: string): void {
  const disk = statfsSync(folder);
  const freeBytes = disk.bavail * disk.bsize;
  if (freeBytes >= NEEDED_FREE_BYTES) return;
  const free = `${Math.floor(freeBytes / 1e6)} MB`;
  throw new Failure(
    `The disk of ${folder} has ${free} free, and the servers need ${NEEDED_FREE_BYTES / 1e6} MB: make room, or ${otherwise}.`,
  );
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
    mkdirSync(folder, { recursive: true });
    if (!holderLives(lockFile)) rmSync(lockFile, { force: true });
    writeFileSync(lockFile, `${janitorPid}\n`, { flag: 'wx' });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'EEXIST' && holderLives(lockFile)) {
      throw new Failure(`The data folder ${folder} is taken by another running stack: end that one, or name another folder.`, { cause });
    }
    throw new Failure(`The data folder ${folder} can not be written (${code}): mend its permissions, or name another folder.`, { cause });
  }
}

/** A process id alone proves nothing after a crash of the machine: another process may have it now. The janitor's command line names the lock. */
function holderLives(lockFile: string): boolean {
  let pid: string;
  try {
    pid = readFileSync(lockFile, 'utf8').trim();
  } catch {
    return false; // No lock, or one that can not be read: writing ours tells which.
  }
  if (!/^\d+$/.test(pid)) return false;
  try {
    return execFileSync('ps', ['-o', 'args=', '-p', pid], { encoding: 'utf8' }).includes(lockFile);
  } catch {
    return false; // ps answers 1 for a process that is not there.
  }
}
