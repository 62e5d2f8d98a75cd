// Makes folders. Everything that starts before a person sees anything uses this and not `mkdir` with `recursive`: below /proc that
// one tries again without end, in a call that no signal can reach (seen in Node 20).
import { mkdirSync, rmdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and those above it that are missing, each tried once.
 * @param {string} folder
 * @returns {string[]} those that were made, the outermost first
 * @throws the system's error; with nothing left that was made
 */
export function makeFolder(folder) {
  const missing = [];
  let path = resolve(folder);
  // What can not be looked at for another reason is found when it is made.
  while (!isThere(path) && dirname(path) !== path) {
    missing.unshift(path);
    path = dirname(path);
  }
  if (!statSync(path).isDirectory()) throw Object.assign(new Error(`ENOTDIR: not a folder, mkdir '${folder}'`), { code: 'ENOTDIR', path });
  /** @type {string[]} */
  const finished = [];
  try {
    for (const each of missing) if (made(each)) finished.push(each);
    return finished;
  } catch (failed) {
    for (const each of finished.reverse()) rmdirSync(each);
    throw failed;
  }
}

/** @param {string} path */
function made(path) {
  try {
    mkdirSync(path);
    return true;
  } catch (failed) {
    // Another maker was quicker.
    if (/** @type {NodeJS.ErrnoException} */ (failed).code === 'EEXIST' && statSync(path).isDirectory()) return false;
    throw failed;
  }
}

/** @param {string} path */
function isThere(path) {
  try {
    statSync(path);
    return true;
  } catch {
    return false; // Missing, or not to be looked at: making it tells which.
  }
}
