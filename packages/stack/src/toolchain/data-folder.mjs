// The folder of `--data`: whether it can keep the servers' data, asked before anything is installed, built or started.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Failure } from './failure.mjs';
import { usersOfLock } from './lock-users.mjs';
import { makeFolder } from './make-folder.mjs';

const LOCK = '.tailrace-in-use';
/** Says which line of OpenSearch wrote the data; it is the first thing that a start writes into its folder. */
export const ORIGIN = 'opensearch-line';
/** What may lie in a folder that no start has kept data in yet: a lock that a killed one left, and what a new disk brings along. */
const NOBODYS = new Set([LOCK, 'lost+found']);
/** OpenSearch refuses writes below 100 MB, and a start that ends that way explains itself badly. */
const NEEDED_FREE_BYTES = 500e6;
/** Who met a full disk has often freed a little of it by its own end. */
const FULL_BELOW_BYTES = 10e6;
const NO_SPACE = /ENOSPC|EDQUOT|no space left on device|disk quota exceeded/i;

/** What the system's codes mean for a folder that somebody named. @type {Readonly<Record<string, string>>} */
const REASONS = {
  EACCES: 'this user may not write there: mend its permissions, or name another folder',
  EPERM: 'this user may not write there: mend its permissions, or name another folder',
  EROFS: 'that disk is read-only: name a folder on another one',
  ENOSPC: 'that disk is full: make room, or name a folder on another one',
  EDQUOT: 'the quota of this user is used up there: make room, or name a folder on another disk',
  ENOTDIR: 'a part of its path is a file: name another folder',
  ENOENT: 'no folder can be made at that place, so name another one',
  ELOOP: 'its path is a ring of links: name another folder',
  ENAMETOOLONG: 'its name is too long: name another folder',
};

/** The file that says which process keeps a data folder for itself. @param {string} folder */
export function lockFileOf(folder) {
  return join(folder, LOCK);
}

/**
 * Makes a data folder and holds it against everything that would end a start later. Where it is refused nothing is left of it.
 * @param {string} folder @param {1 | 3} brokers
 * @throws Failure with exit code 2 and one sentence
 */
export function checkDataFolder(folder, brokers = 1) {
  const path = resolve(folder);
  /** @type {string[]} */
  let made = [];
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false) {
      throw new Failure(`The data folder ${path} is not a folder: name another one.`, { exitCode: 2 });
    }
    made = makeFolder(path);
    // By a file: permissions alone do not say it (root may everything, and /proc takes no files).
    const probe = join(path, `.tailrace-probe-${process.pid}`);
    writeFileSync(probe, '', { flag: 'wx' });
    rmSync(probe);
    if (lockHolderLives(lockFileOf(path))) throw takenFailure(path);
    requireOwn(path);
    requireBrokers(path, brokers);
    requireSpace(path, 'name a folder on another disk');
  } catch (cause) {
    for (const each of made.reverse()) rmdirSync(each);
    throw cause instanceof Failure ? cause : unusableFailure(path, cause);
  }
}

/**
 * Servers must not mix their files with somebody's own: the folder is empty, or a start has kept its data there.
 * @param {string} path
 */
function requireOwn(path) {
  const names = readdirSync(path);
  const other = names.includes(ORIGIN) ? undefined : names.find((name) => !NOBODYS.has(name));
  if (other === undefined) return;
  throw new Failure(
    `The data folder ${path} holds files of somebody else (${other}) and no data of an earlier start: name an empty folder, or a new one.`,
    { exitCode: 2 },
  );
}

/**
 * What one broker kept three others do not hold: the events in it would be gone, and the topics be made anew.
 * @param {string} path @param {1 | 3} brokers
 */
function requireBrokers(path, brokers) {
  const names = readdirSync(path);
  const keptBy = names.includes('kafka-1') ? 3 : names.includes('kafka') ? 1 : brokers;
  if (keptBy === brokers) return;
  throw new Failure(
    `The data folder ${path} was written by ${keptBy === 1 ? 'one broker' : 'three brokers'}: use --brokers ${keptBy}, or name another folder.`,
    { exitCode: 2 },
  );
}

/** @param {string} path */
export function takenFailure(path) {
  return new Failure(`The data folder ${path} is in use by ${usersOfLock(lockFileOf(path))}, or name another folder.`, { exitCode: 2 });
}

/** @param {string} path @param {unknown} cause */
export function unusableFailure(path, cause) {
  const code = /** @type {NodeJS.ErrnoException} */ (cause).code ?? String(cause);
  const reason = REASONS[code] ?? 'name another folder';
  return new Failure(`The data folder ${path} can not be used (${code}): ${reason}.`, { exitCode: 2, cause });
}

/**
 * @param {string} folder @param {string} otherwise what to do instead of making room
 * @throws Failure where the servers would soon refuse writes
 */
export function requireSpace(folder, otherwise) {
  const free = freeBytes(folder);
  if (free >= NEEDED_FREE_BYTES) return;
  throw new Failure(
    `The disk of ${folder} has ${megabytes(free)} free, and the servers need ${megabytes(NEEDED_FREE_BYTES)}: make room, or ${otherwise}.`,
    { exitCode: 2 },
  );
}

/**
 * What is wrong with a folder in which something of a running start could not be written, and what to do; undefined where its disk has
 * room and `cause`, an error or the end of a log, says nothing of a full one.
 * @param {string} folder @param {unknown} cause
 * @returns {string | undefined} without the full stop
 */
export function fullDisk(folder, cause) {
  const free = freeBytes(folder);
  if (free >= FULL_BELOW_BYTES && !NO_SPACE.test(cause instanceof Error ? cause.message : String(cause))) return undefined;
  return `the disk of ${folder} is full (${megabytes(free)} free; the servers need ${megabytes(NEEDED_FREE_BYTES)}): make room there, or name a folder on another disk, then start again`;
}

/** @param {string} folder */
function freeBytes(folder) {
  const disk = statfsSync(folder);
  return disk.bavail * disk.bsize;
}

/** @param {number} bytes */
function megabytes(bytes) {
  return `${Math.floor(bytes / 1e6)} MB`;
}

/**
 * Whether the process that a lock file names still keeps the folder. A process id alone proves nothing after a crash of the machine:
 * another process may have it now. The janitor's command line names the lock.
 * @param {string} lockFile
 */
export function lockHolderLives(lockFile) {
  let pid;
  try {
    [pid = ''] = readFileSync(lockFile, 'utf8').trim().split(' ');
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
