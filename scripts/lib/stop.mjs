// When to stop: a signal from the terminal or the system, or the end of the npm that started us.
import { readFileSync } from 'node:fs';
import { Failure } from '../../packages/stack/src/toolchain/failure.mjs';

const PARENT_POLL_MS = 500;
/** By convention of shells: ended by SIGINT. Scripts see that nobody decided that the work is done. */
export const EXIT_STOPPED = 130;

/**
 * A signal that is aborted at the first SIGINT, SIGTERM or SIGHUP, and when the `npm` that runs this script ends: a kill -9 of npm
 * reaches nobody else. A second SIGINT ends this process at once; what it started ends with it.
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {AbortSignal}
 */
export function stopSignal(env) {
  const stop = new AbortController();
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(name, () => {
      if (stop.signal.aborted && name === 'SIGINT') process.exit(EXIT_STOPPED);
      stop.abort(new Failure(`Stopped by ${name}.`));
    });
  }
  // After a SIGHUP the terminal may be gone: what can not be printed is not worth dying over before all is stopped.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', () => stop.abort(new Failure('Stopped: nobody reads the output any more.')));
  const watched = npmLinks(env);
  if (watched.length > 0) {
    const timer = setInterval(() => {
      if (watched.every(({ pid, parent }) => parentOf(pid) === parent)) return;
      clearInterval(timer);
      stop.abort(new Failure('Stopped: the npm that started this has ended.'));
    }, PARENT_POLL_MS);
    timer.unref();
  }
  return stop.signal;
}

/**
 * The links between this process and npm: we are npm's child, or the child of the shell in which npm runs a script. Links above npm
 * are not watched: a shell that ends behind `nohup npm start &` is no reason to stop.
 * @param {Readonly<Record<string, string | undefined>>} env
 */
function npmLinks(env) {
  if (env.npm_lifecycle_event === undefined) return [];
  const links = [{ pid: process.pid, parent: process.ppid }];
  if (isScriptShell(process.ppid)) links.push({ pid: process.ppid, parent: parentOf(process.ppid) });
  return links;
}

/** Whether a process is a shell that runs a command given on its command line (known on Linux only; elsewhere such a shell replaces itself). @param {number} pid */
function isScriptShell(pid) {
  const [program, option] = (readProc(pid, 'cmdline') ?? '').split('\0');
  return /(^|\/)(sh|dash|bash)$/.test(program ?? '') && option === '-c';
}

/** @param {number} pid @returns {number} 0 when it is gone */
function parentOf(pid) {
  if (pid === process.pid) return process.ppid;
  const stat = readProc(pid, 'stat');
  // The name in parentheses may hold anything, also parentheses.
  return stat === undefined ? 0 : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

/** @param {number} pid @param {string} file */
function readProc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined; // The process is gone, or this system has no /proc.
  }
}
