import type { Logger } from '../logs/logger.ts';
import { endProcess } from './end-process.ts';

/** Why the process is to stop, and with which exit code when the stop goes well. */
export interface StopRequest {
  readonly why: string;
  readonly exitCode: 0 | 1 | 2;
}

const SIGNALS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;
/** A terminal sends Ctrl-C to every process of its group and npm passes it on once more: within this time it is one wish. */
const SAME_WISH_MS = 500;

export interface StopRequests {
  /** The first one; it never rejects. */
  readonly first: Promise<StopRequest>;
  /** A reason from inside the process. Only the first one counts. */
  ask(request: StopRequest): void;
}

/**
 * Watches for a reason to stop: SIGINT, SIGTERM or SIGHUP, the end of standard input (where asked for), or a fault that nobody
 * caught. A second signal ends the process at once. Installs its listeners for the life of the process.
 */
export function watchStopRequests(log: Logger, options: { readonly onStdinEnd: boolean }): StopRequests {
  let ask: StopRequests['ask'] = () => undefined;
  const first = new Promise<StopRequest>((resolve) => {
    ask = resolve;
  });
  let firstSignalMs: number | undefined;
  for (const [signal, number] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      firstSignalMs ??= performance.now();
      if (performance.now() - firstSignalMs > SAME_WISH_MS) {
        log.warn(`${signal} again: ended at once, what was in flight has no answer`);
        endProcess(128 + number);
      }
      ask({ why: signal, exitCode: 0 });
    });
  }
  process.on('uncaughtException', (fault, origin) => {
    const what = origin === 'unhandledRejection' ? 'a promise was rejected and nobody caught it' : 'an exception was not caught';
    log.fatal({ err: fault }, `${what}: ${fault instanceof Error ? fault.message : String(fault)}`);
    ask({ why: what, exitCode: 1 });
  });
  if (options.onStdinEnd) {
    const ended = () => ask({ why: 'standard input ended', exitCode: 0 });
    // An error of the pipe is its end, too: whoever held the other side is gone.
    process.stdin.once('end', ended).once('close', ended).once('error', ended).resume();
  }
  return { first, ask };
}
