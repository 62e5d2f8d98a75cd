import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** The variable whose value tells the processes of one start from all others: every child inherits it, also one whose parent is gone. */
export const MARK_VARIABLE = 'TAILRACE_E2E_MARK';

export interface ProcessRow {
  readonly pid: number;
  readonly parentPid: number;
  readonly command: readonly string[];
}

/** A row as a person reads it: `4711 node scripts/start.mjs …`. */
export function rowText({ pid, command }: ProcessRow): string {
  return `${pid} ${command.join(' ').slice(0, 120)}`;
}

/** The living processes that bear a mark. Ended ones that nobody has waited for yet hold nothing any more and are left out. */
export function markedProcesses(mark: string): ProcessRow[] {
  const needle = `${MARK_VARIABLE}=${mark}\0`;
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      if (!readFileSync(`/proc/${name}/environ`, 'latin1').includes(needle)) return [];
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      // The name in parentheses may hold anything, also parentheses.
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z' || state === 'X') return [];
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').slice(0, -1);
      return [{ pid: Number(name), parentPid: Number(parent), command }];
    } catch {
      return []; // It ended between the listing and the look, or is another user's.
    }
  });
}

/** A TCP port that somebody listens on. */
export interface ListeningPort {
  readonly port: number;
  readonly pids: readonly number[];
}

/** Every listening TCP port of this machine, with the processes that hold it, as `ss` tells them. */
export function listeningPorts(): ListeningPort[] {
  const table = execFileSync('ss', ['-ltnpH'], { encoding: 'utf8' });
  return table
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({
      port: Number(/:(\d+)$/.exec(line.trim().split(/\s+/)[3] ?? '')?.[1]),
      pids: [...line.matchAll(/pid=(\d+)/g)].map(([, pid]) => Number(pid)),
    }));
}

/** The most memory that a process ever had resident, by the kernel's own mark. */
export function peakResidentMib(pid: number): number {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kib) / 1024);
}
