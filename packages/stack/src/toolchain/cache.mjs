// The user's cache folder: what was fetched or built once. Entries are named by what they were made from, so they are never stale.
import { createHash, randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Failure } from './failure.mjs';
import { makeFolder } from './make-folder.mjs';

const UNFINISHED = 'unfinished';
/** Each version of a server, of Java or of this project leaves entries of its own: those that nobody uses any more go. */
const KEEP_UNUSED_MS = 60 * 24 * 3_600_000;
const TOUCH_EVERY_MS = 24 * 3_600_000;

/**
 * `$XDG_CACHE_HOME/tailrace`, else `~/.cache/tailrace`.
 * @param {Readonly<Record<string, string | undefined>>} env
 */
export function cacheRoot(env) {
  const base = env.XDG_CACHE_HOME;
  return join(base === undefined || base === '' ? join(env.HOME ?? homedir(), '.cache') : base, 'tailrace');
}

/**
 * The cache's folder, made when it is not there.
 * @param {Readonly<Record<string, string | undefined>>} env
 * @throws Failure when it can not be written
 */
export function makeCacheRoot(env) {
  const root = cacheRoot(env);
  try {
    makeFolder(root);
    accessSync(root, constants.W_OK);
  } catch (cause) {
    const code = /** @type {NodeJS.ErrnoException} */ (cause).code;
    throw new Failure(
      `The cache folder ${root} can not be written (${code}): mend its permissions, or set XDG_CACHE_HOME to another folder.`,
      { cause },
    );
  }
  sweepUnfinished(root);
  sweepUnused(root);
  return root;
}

/** A short name for what something was made from. @param {readonly (string | Buffer)[]} parts */
export function keyOf(parts) {
  const hash = createHash('sha256');
  for (const part of parts) {
    // The length first: ['ab', 'c'] and ['a', 'bc'] are not the same parts.
    hash.update(`${Buffer.byteLength(part)}:`).update(part);
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * Makes a cache entry unless it is there. It is made under another name and then renamed, so that an interrupted making leaves no
 * half entry, and two makers at the same time both end up with a whole one.
 * @param {string} entry its path, two folders below the cache's root
 * @param {(path: string) => Promise<void>} make makes the entry, a folder or a file, at the path it is given
 * @returns {Promise<string>} the entry's path
 */
export async function cached(entry, make) {
  if (isCached(entry)) return entry;
  // In the same root, so that the rename does not cross disks.
  const folder = join(dirname(dirname(entry)), UNFINISHED, `${process.pid}-${randomBytes(4).toString('hex')}`);
  makeFolder(folder);
  try {
    const made = join(folder, 'entry');
    await make(made);
    makeFolder(dirname(entry));
    try {
      renameSync(made, entry);
    } catch (failed) {
      if (!existsSync(entry)) throw failed; // Else another maker was quicker, and its entry is as good.
    }
    return entry;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Whether an entry is there; the question counts as a use of it.
 * @param {string} entry
 */
export function isCached(entry) {
  if (!existsSync(entry)) return false;
  const { atimeMs, mtime } = statSync(entry);
  if (Date.now() - atimeMs > TOUCH_EVERY_MS) utimesSync(entry, new Date(), mtime);
  return true;
}

/** @param {string} root */
function sweepUnused(root) {
  for (const kind of readdirSync(root)) {
    if (kind === UNFINISHED || !statSync(join(root, kind)).isDirectory()) continue;
    for (const name of readdirSync(join(root, kind))) {
      const entry = join(root, kind, name);
      if (Date.now() - statSync(entry).atimeMs > KEEP_UNUSED_MS) rmSync(entry, { recursive: true, force: true });
    }
  }
}

/** Removes what makers that were killed left behind. @param {string} root */
function sweepUnfinished(root) {
  const folder = join(root, UNFINISHED);
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (!isAlive(Number.parseInt(name, 10))) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (failed) {
    return /** @type {NodeJS.ErrnoException} */ (failed).code === 'EPERM';
  }
}
