// What a person is told when a step fails: one sentence, then the end of that step's own output.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const TAIL_LINES = 15;
const TAIL_BYTES = 16 * 1024;

/** A failure that a person can do something about. `message` is one sentence: what is wrong, where, and what to do. */
export class Failure extends Error {
  /**
   * @param {string} message
   * @param {{ logFile?: string, exitCode?: 1 | 2, cause?: unknown }} [more] the failed step's log file; 2 for wrong use
   */
  constructor(message, more = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'Failure';
    this.logFile = more.logFile;
    this.exitCode = more.exitCode ?? 1;
    /** The log's last lines, read now: the folder of a temporary stack is gone when this is printed. */
    this.logTail = more.logFile === undefined ? '' : tailOf(more.logFile);
  }

  /** The sentence, the tail of the log, and where the whole log is. */
  describe() {
    if (this.logFile === undefined) return this.message;
    const tail = this.logTail === '' ? '  (its log is empty)' : this.logTail.replace(/^/gm, '  | ');
    return `${this.message}\n${tail}\n  whole log: ${this.logFile}`;
  }
}

/**
 * The last lines of a text file, '' when there is none to read.
 * @param {string} file
 */
export function tailOf(file) {
  let handle;
  try {
    handle = openSync(file, 'r');
    const size = fstatSync(handle).size;
    const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(handle, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString('utf8').trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  } catch {
    return ''; // No log is no reason to hide the failure that is being told.
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** Output of a failed step that names its cause better than its exit code; first match wins. */
const CAUSES = [
  {
    pattern: /ENOSPC|no space left on device|disk quota exceeded/i,
    sentence: 'the disk is full: make room (the first start needs about 2 GB), then run the command again',
  },
  {
    pattern:
      /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|unknown host|name or service not known|temporary failure (in name resolution|resolving)|could not transfer artifact|could not resolve|network is unreachable|connection (refused|timed out|reset)/i,
    sentence: 'the network could not be used: check the connection and the proxy settings, then run the command again',
  },
  {
    pattern: /EACCES|EPERM|EROFS|permission denied|read-only file system/i,
    sentence: 'a file could not be written: check who owns the folder that the log names, then run the command again',
  },
];

/**
 * The cause that a failed step's log gives away, undefined when it gives none.
 * @param {string} logTail
 */
export function causeInLog(logTail) {
  return CAUSES.find((cause) => cause.pattern.test(logTail))?.sentence;
}

/**
 * What a person is told about any failure: our own sentence, or the likely cause of a system's error, or the error's own words.
 * @param {unknown} failed
 */
export function describeFailure(failed) {
  // By its method: the scripts load this class from the sources, the packages from the build.
  if (failed instanceof Error && 'describe' in failed && typeof failed.describe === 'function') return String(failed.describe());
  const { message, path } = /** @type {NodeJS.ErrnoException} */ (failed instanceof Error ? failed : new Error(String(failed)));
  const cause = causeInLog(message);
  return cause === undefined ? message : `${path ?? message}: ${cause}.`;
}

/**
 * 2 for wrong use, 1 for failed work.
 * @param {unknown} failed
 */
export function exitCodeOf(failed) {
  return failed instanceof Error && 'exitCode' in failed && failed.exitCode === 2 ? 2 : 1;
}
