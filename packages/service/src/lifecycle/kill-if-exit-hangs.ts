import { spawn } from 'node:child_process';

const GRACE_MS = 500;

/** The guard's program: kills its parent unless standard input ends first, which is when the parent has ended. */
const GUARD = `setTimeout(() => process.kill(${process.pid}, 'SIGKILL'), ${GRACE_MS}); process.stdin.on('end', () => process.exit()).resume();`;

/**
 * To be called right before `process.exit` when something hangs. Exit waits for Node's thread pool, and a call of the Kafka
 * client that runs there can not be broken off (its disconnect takes 45 s with Kafka gone); once exit has begun no code of ours
 * runs any more. So a guard is started that kills the process when it is still there a little later.
 */
export function killIfExitHangs(): void {
  spawn(process.execPath, ['-e', GUARD], { stdio: ['pipe', 'ignore', 'ignore'], detached: true }).unref();
}
