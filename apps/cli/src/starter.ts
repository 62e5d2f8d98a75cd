import { readFileSync } from 'node:fs';

/** The process id of the start that wrote an endpoints file, while it still runs; undefined where it has ended or the file does not say. */
export function runningStarter(file: string): number | undefined {
  try {
    const { owner } = JSON.parse(readFileSync(file, 'utf8')) as { readonly owner?: { readonly pid?: unknown; readonly started?: unknown } };
    const pid = owner?.pid;
    return typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 && runs(pid, owner?.started) ? pid : undefined;
  } catch {
    return undefined; // The file is gone or is none: then nothing is known of its start.
  }
}

/** Another process may have the id by now: `started`, as the start wrote it, tells them apart where the system has /proc. */
function runs(pid: number, started: unknown): boolean {
  const stat = textOf(`/proc/${pid}/stat`);
  if (stat === undefined) return textOf('/proc/self/stat') === undefined && isThere(pid);
  // Behind the name, which may hold anything: the state is field 3 of proc(5), the start field 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] !== 'Z' && fields[19] === started;
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    // Another user's process is there, too.
    return (fault as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // No such process, or a system without /proc.
  }
}
