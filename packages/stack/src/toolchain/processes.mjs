// Runs other programs so that none of them outlives this process, however it ends.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { causeInLog, Failure, tailOf } from './failure.mjs';
import { makeFolder } from './make-folder.mjs';

/**
 * Runs its arguments as a command in a process group of its own and ends the whole group when descriptor 3 closes. The other end
 * of that descriptor is held by this process alone: the kernel closes it also after a kill -9, when no handler can run.
 */
const GUARD = `
( while read -r _ <&3; do :; done; trap '' TERM; kill -s TERM -- -$$; sleep 1; kill -s KILL -- -$$ ) 2>/dev/null &
guard=$!
"$@" 3<&-
code=$?
kill -s KILL $guard 2>/dev/null
exit $code`;

/**
 * @typedef {object} Run
 * @property {string} [cwd]
 * @property {Readonly<Record<string, string | undefined>>} env
 * @property {string} [logFile] gets everything the command prints; without it the command prints to this process's output
 * @property {AbortSignal} [signal] ends the command and all that it started
 */

/**
 * Runs a command to its end.
 * @param {string} command @param {readonly string[]} args @param {Run} run
 * @returns {Promise<number>} its exit code; 128 + n when signal n ended it
 * @throws the signal's reason when it was aborted, after the command's whole group has ended
 */
export async function runGuarded(command, args, run) {
  run.signal?.throwIfAborted();
  if (run.logFile !== undefined) makeFolder(dirname(run.logFile));
  const log = run.logFile === undefined ? undefined : openSync(run.logFile, 'w');
  const output = log ?? 'inherit';
  try {
    const child = spawn('sh', ['-c', GUARD, 'sh', command, ...args], {
      ...(run.cwd === undefined ? {} : { cwd: run.cwd }),
      env: { ...run.env },
      detached: true,
      stdio: [log === undefined ? 'inherit' : 'ignore', output, output, 'pipe'],
    });
    const end = () => child.stdio[3]?.destroy();
    run.signal?.addEventListener('abort', end, { once: true });
    try {
      /** @type {number} */
      const code = await new Promise((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', (exitCode) => resolve(exitCode ?? 128));
      });
      if (run.signal?.aborted) {
        await groupEnded(child.pid ?? 0);
        run.signal.throwIfAborted();
      }
      return code;
    } finally {
      run.signal?.removeEventListener('abort', end);
      end();
    }
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

/**
 * Runs a step's command with its output in a log.
 * @param {string} what the step, as the sentence's subject: "Fetching the Kafka jars"
 * @param {string} command @param {readonly string[]} args @param {Run & { logFile: string }} run
 * @throws Failure that names the step, the likely cause and the log
 */
export async function runStep(what, command, args, run) {
  const code = await runGuarded(command, args, run);
  if (code === 0) return;
  const cause =
    causeInLog(tailOf(run.logFile)) ??
    `${command.split('/').at(-1)} ended with exit code ${code}: see its log for the cause, mend it, then run the command again`;
  throw new Failure(`${what} failed: ${cause}.`, { logFile: run.logFile });
}

/** Waits until no process of a group is left, but not for ever. @param {number} group */
async function groupEnded(group) {
  for (let waitedMs = 0; waitedMs < 3_000 && groupLives(group); waitedMs += 50) await delay(50);
}

/** @param {number} group */
function groupLives(group) {
  try {
    process.kill(-group, 0);
  } catch {
    return false; // ESRCH: the group is gone.
  }
  if (!existsSync('/proc/self/stat')) return true;
  // A zombie only waits for its new parent to notice its end, and a container without an init never does.
  return readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && isRunningIn(group, pid));
}

/** @param {number} group @param {string} pid */
function isRunningIn(group, pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Behind the name, which may hold anything: state, parent, group.
    const [state, , ownGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ownGroup === String(group) && state !== 'Z';
  } catch {
    return false; // It ended meanwhile.
  }
}
