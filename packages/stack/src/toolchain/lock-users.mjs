// Who still uses a data folder: its lock names the janitor, and the socket that is held open by all whose files lie there.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * Who keeps a data folder, and what to do about it: the start that took it, else what that one left behind at its own end.
 * @param {string} lockFile of a lock whose holder lives
 * @returns {string} as "another start (process 12): end that one"
 */
export function usersOfLock(lockFile) {
  try {
    const [janitor = '', inode = '0'] = readFileSync(lockFile, 'utf8').trim().split(' ');
    const starter = Number(execFileSync('ps', ['-o', 'ppid=', '-p', janitor], { encoding: 'utf8' }));
    const users = holdersOf(inode);
    // The janitor's parent is the start itself; behind its end it is whoever takes orphans, who holds nothing.
    if (users === undefined ? starter > 1 : users.includes(starter)) return `another start (process ${starter}): end that one`;
    if (users === undefined || users.length === 0) return `what another start left behind (process ${janitor} waits for it): end that`;
    const named = users.map((pid) => `${pid} (${nameOf(pid)})`).join(', ');
    return users.length === 1
      ? `process ${named}, which a start that has ended left behind: end it`
      : `processes ${named}, which a start that has ended left behind: end them`;
  } catch {
    return 'another start: end that one'; // It ends just now, or this system has no ps: that the folder is taken is known all the same.
  }
}

/** The processes that hold a socket; undefined where that can not be seen. @param {string} inode */
function holdersOf(inode) {
  if (inode === '0' || !existsSync('/proc/self/fd')) return undefined;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => descriptorsOf(name).some((descriptor) => linkOf(`/proc/${name}/fd/${descriptor}`) === `socket:[${inode}]`))
    .map(Number);
}

/** @param {string} pid */
function descriptorsOf(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return []; // It has ended, or is another user's.
  }
}

/** @param {string} path */
function linkOf(path) {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // Closed meanwhile.
  }
}

/** What a person calls a process of ours: the service or the server, else its program. @param {number} pid */
function nameOf(pid) {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  const service = /apps\/([^/]+)\/dist\//.exec(words.join(' '))?.[1];
  const launched = words.indexOf('Launcher');
  return service ?? (launched < 0 ? words[0] : words[launched + 1]) ?? '';
}
