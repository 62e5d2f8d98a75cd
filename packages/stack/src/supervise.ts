import type { InstanceName } from './instances.ts';
import type { Server } from './server.ts';
import { Failure } from './toolchain/failure.mjs';

/** A server that dies more often than this within the window has a fault that another start does not mend. */
const MAX_DEATHS = 3;
const DEATH_WINDOW_MS = 60_000;

export interface Supervision {
  readonly failed: Promise<Failure>;
  restart(name: InstanceName, how?: 'orderly' | 'kill', whileAway?: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

/** Watches servers that stand: a death that nobody asked for ends everything, or is answered with a restart. */
export function superviseServers(
  servers: readonly Server[],
  whenServerDies: 'end' | 'restart',
  endAll: () => Promise<void>,
  report: (line: string) => void,
): Supervision {
  const ending = new AbortController();
  /** Restarts under way: their server's end is no death. */
  const restarts = new Map<InstanceName, Promise<void>>();
  let ended: Promise<void> | undefined;
  const stop = () => {
    ending.abort();
    ended ??= endAll();
    return ended;
  };

  const watch = async (server: Server): Promise<Failure> => {
    const deathsMs: number[] = [];
    for (;;) {
      const how = await server.ended;
      if (ending.signal.aborted) return never();
      const restart = restarts.get(server.name);
      if (restart !== undefined) {
        // Its failure is the caller's; the server that did not come back then counts as dead here.
        await restart.catch(() => {});
        if (server.running) continue;
      }
      deathsMs.push(Date.now());
      const recent = deathsMs.filter((atMs) => atMs > Date.now() - DEATH_WINDOW_MS).length;
      if (whenServerDies === 'end' || recent > MAX_DEATHS || server.fullDisk !== undefined)
        return server.failure(`ended by itself with ${how}`);
      report(`${server.name} ended with ${how}; it is started again`);
      try {
        await server.start(ending.signal);
      } catch (failed) {
        if (ending.signal.aborted) return never();
        return failed instanceof Failure ? failed : server.failure(`could not be started again: ${(failed as Error).message}`);
      }
      report(`${server.name} answers again`);
    }
  };

  const failed = Promise.race(servers.map(watch)).then(async (failure) => {
    await stop();
    return failure;
  });

  return {
    failed,
    stop,
    async restart(name, how = 'orderly', whileAway = async () => {}) {
      const server = servers.find((candidate) => candidate.name === name);
      if (server === undefined)
        throw new Error(`There is no server ${name}: it is one of ${servers.map((known) => known.name).join(', ')}.`);
      const work = async () => {
        await server.stop(how);
        try {
          await whileAway();
        } finally {
          await server.start(ending.signal);
        }
      };
      const restart = work().finally(() => restarts.delete(name));
      restarts.set(name, restart);
      await restart;
    },
  };
}

/** For a watch that ends because everything is wanted to end: it must not be told as a failure. */
function never(): Promise<never> {
  return new Promise(() => {});
}
