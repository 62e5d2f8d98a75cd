import { type ChildProcess, spawn } from 'node:child_process';

const GRACE_MS = 500;
const LAST_RESORT_MS = 250;

/** The guard's program: ends its parent unless standard input ends first, which is when the parent has ended. */
const guardOf = (signal: NodeJS.Signals) => `
setTimeout(() => process.kill(${process.pid}, '${signal}'), ${GRACE_MS});
setTimeout(() => process.kill(${process.pid}, 'SIGKILL'), ${GRACE_MS + LAST_RESORT_MS});
process.stdin.on('end', () => process.exit()).resume();`;

/**
 * Ends this process for certain; logs are written by then (the logger writes each line before its call returns). `process.exit`
 * alone is not certain: it joins the threads of Node's pool, where a call of the Kafka client can be stuck for ever
 * (rd_kafka_consumer_close below a broker that hangs), also of a client that was given up and that no part waits for any more; and
 * once exit has begun no code of ours runs. So a guard stands by whenever a process ends.
 *
 * What is seen: the exit code, or, where exit hangs, the end by a signal half a second later: SIGTERM (143 in a shell) where `code` is
 * 0, which supervisors take for an orderly stop; else SIGKILL (137).
 */
export function endProcess(code: number): never {
  const signal = code === 0 ? 'SIGTERM' : 'SIGKILL';
  // A handler of ours would catch the guard's signal, and nothing reads what it caught.
  process.removeAllListeners('SIGTERM');
  // No process can be had for the guard (EAGAIN, EMFILE): then the end is certain at the price of the exit code.
  if (startGuard(signal)?.pid === undefined) process.kill(process.pid, signal);
  process.exit(code);
}

function startGuard(signal: NodeJS.Signals): ChildProcess | undefined {
  try {
    const guard = spawn(process.execPath, ['-e', guardOf(signal)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/' });
    guard.unref();
    return guard;
  } catch {
    // spawn throws for some codes and leaves the pid away for others: to the caller both are the same.
    return undefined;
  }
}
