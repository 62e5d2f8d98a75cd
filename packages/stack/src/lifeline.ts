import { type ChildProcess, spawn } from 'node:child_process';
import { fstatSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Writable } from 'node:stream';

/**
 * A shell in a session of its own that sleeps until the last holder of the other end of its standard input is gone, and then removes
 * what was theirs. The kernel closes a dead process's descriptors, so this happens however the holders ended, and never before.
 * Positional: scratch folder, lock file ('' for none). What `removeBehind` named stands in the scratch folder.
 */
const JANITOR = `
while read -r _; do :; done
if [ -f "$1/behind" ]; then
  behind=$(cat -- "$1/behind"; printf x); behind=\${behind%x}
  if [ "$(cat -- "$behind" 2>/dev/null)" = "$(cat -- "$1/behind.content")" ]; then rm -f -- "$behind"; fi
fi
rm -rf -- "$1"
if [ -n "$2" ] && [ "$(cut -d ' ' -f 1 -- "$2" 2>/dev/null)" = $$ ]; then rm -f -- "$2"; fi`;

/** Keeps a temporary folder (and a data folder's lock) exactly as long as somebody lives who uses it. */
export interface Lifeline {
  /** Goes to each process that uses the folder as one more entry of `stdio` when it is spawned. */
  readonly stream: Writable;
  /** Identifies the janitor in a lock file. */
  readonly janitorPid: number;
  /** The inode of `stream`, by which its holders can be named; undefined where this Node does not show it. */
  readonly inode: number | undefined;
  /** Names one file outside of the folder that is removed as well, if it still holds `content` then: a killed process can not do it. */
  removeBehind(file: string, content: string): void;
  /** Lets go, and waits until the folder is removed, or until `graceMs` have passed because others still hold on. */
  release(graceMs: number): Promise<void>;
}

/** Starts the janitor of a scratch folder and, optionally, of a lock file that holds the janitor's process id. */
export function startJanitor(scratchFolder: string, lockFile: string | undefined): Lifeline {
  const janitor: ChildProcess = spawn('sh', ['-c', JANITOR, 'tailrace-janitor', scratchFolder, lockFile ?? ''], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const stream = janitor.stdin;
  if (stream === null || janitor.pid === undefined)
    throw new Error('The shell (sh) that tidies up could not be started: check that sh is on the PATH.');
  // EPIPE when somebody killed the janitor: nothing is ever written, so there is nothing to lose.
  stream.on('error', () => {});
  const ended = new Promise<void>((resolve) => {
    janitor.once('exit', () => resolve());
    janitor.once('error', () => resolve());
  });
  janitor.unref();
  (stream as Writable & { unref?(): void }).unref?.();
  return {
    stream,
    janitorPid: janitor.pid,
    inode: inodeOf(stream),
    removeBehind(file, content) {
      // The content may hold credentials. First the content: a name without one would name any empty file.
      writeFileSync(join(scratchFolder, 'behind.content'), content, { mode: 0o600 });
      writeFileSync(join(scratchFolder, 'behind'), resolve(file), { mode: 0o600 });
    },
    async release(graceMs) {
      stream.destroy();
      let timer: NodeJS.Timeout | undefined;
      const grace = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, graceMs);
      });
      await Promise.race([ended, grace]);
      clearTimeout(timer);
    },
  };
}

function inodeOf(stream: Writable & { readonly _handle?: { readonly fd?: number } }): number | undefined {
  const fd = stream._handle?.fd;
  return fd === undefined || fd < 0 ? undefined : fstatSync(fd).ino;
}
