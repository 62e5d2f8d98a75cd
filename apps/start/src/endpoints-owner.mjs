// Whose an endpoints file is. Plain JavaScript on Node's own modules, like the options: it is asked before anything is built.
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync } from 'node:fs';

/**
 * The start that wrote a file. A process id alone proves nothing once that process has ended: another one may have it now.
 * @typedef {{ pid: number, started: string }} Owner
 */

/** A larger file is none of ours, and is not read. */
const MAX_BYTES = 1024 * 1024;

/** @returns {Owner} this process */
export function ownOwner() {
  return { pid: process.pid, started: startOf(process.pid) ?? '' };
}

/**
 * Whether a start may put its endpoints file there: where nothing stands, or what a start that has ended left behind.
 * @param {string} path
 * @returns {{ kind: 'free' } | { kind: 'stale', text: string } | { kind: 'refused', sentence: string }} `sentence`: why not, and what to do
 */
export function inspectEndpointsFile(path) {
  const refused = (/** @type {string} */ why) => ({
    kind: /** @type {const} */ ('refused'),
    sentence: `The file ${path} of --endpoints can not be written: ${why}.`,
  });
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return { kind: 'free' };
    if (stats.isSymbolicLink()) return refused('it is a symbolic link; name the file itself, or another one');
    if (!stats.isFile()) return refused('it is not a file');
    const text = stats.size > MAX_BYTES ? '' : readFileSync(path, 'utf8');
    const owner = ownerIn(text);
    if (owner === undefined) return refused('a file that npm start did not write stands there; name another one, or remove it');
    if (startOf(owner.pid) !== owner.started) return { kind: 'stale', text };
    return refused(`the start that wrote it still runs (process ${owner.pid}); end that one, or name another file`);
  } catch (error) {
    return refused(/** @type {Error} */ (error).message);
  }
}

/** Undefined where the text is no endpoints file of ours. @param {string} text @returns {Owner | undefined} */
function ownerIn(text) {
  try {
    const { owner, environment } = JSON.parse(text);
    const ours = Number.isSafeInteger(owner.pid) && typeof owner.started === 'string' && typeof environment === 'object';
    return ours ? { pid: owner.pid, started: owner.started } : undefined;
  } catch {
    return undefined; // No JSON, or none with an owner: somebody else's.
  }
}

/** When a process started, in the system's own words; undefined when it has ended. @param {number} pid */
function startOf(pid) {
  try {
    if (!existsSync('/proc/self/stat')) return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Behind the name, which may hold anything: the state is field 3 of proc(5), the start field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended, and only waits for its parent to notice.
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined; // No such process.
  }
}
