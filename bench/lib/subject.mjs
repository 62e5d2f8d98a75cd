// What every measured process does: it reads a filled topic to its end and tells what that cost.
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** @typedef {{ topic: string, records: number, partitions: number, group: string, environment: Record<string, string>, folder: string }} Task */

/** @returns {Task} */
export function task() {
  return JSON.parse(process.argv[2] ?? '');
}

/**
 * Runs the work after `ready` and prints one line of JSON: CPU time of all threads, wall time, the peak of resident memory and the
 * longest time in which the event loop stood still, from the first record on.
 * @param {(firstRecord: () => void) => Promise<object | void>} work
 */
export async function measured(work) {
  const delays = monitorEventLoopDelay({ resolution: 5 });
  let begun;
  const firstRecord = () => {
    if (begun !== undefined) return;
    begun = { cpu: process.cpuUsage(), ms: performance.now() };
    delays.enable();
  };
  const more = await work(firstRecord);
  if (begun === undefined) throw new Error('no record came');
  const { user, system } = process.cpuUsage(begun.cpu);
  const figures = {
    cpuUs: user + system,
    wallMs: performance.now() - begun.ms,
    residentMb: peakResidentMb(),
    stallMs: delays.max / 1e6,
    ...more,
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  process.exit(0);
}

/** The kernel's own high-water mark, in MiB. */
function peakResidentMb() {
  const line = readFileSync('/proc/self/status', 'utf8').match(/^VmHWM:\s+(\d+) kB$/m);
  return Number(line?.[1]) / 1024;
}
