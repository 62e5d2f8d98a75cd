import { existsSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { type Endpoints, processEnvironment } from './config.ts';
import { type Folders, makeFolders } from './folders.ts';
import type { BrokerCount, InstanceName } from './instances.ts';
import { planServers } from './plans.ts';
import { Server } from './server.ts';
import type { Jit } from './settings.ts';
import { superviseServers } from './supervise.ts';
import type { Failure } from './toolchain/failure.mjs';
import { prepareServers, type ServerName } from './toolchain/servers.mjs';

const JANITOR_GRACE_MS = 5_000;

export interface StackOptions {
  /** Keeps the data here; without it everything lies in a temporary folder that is removed. */
  readonly dataFolder?: string;
  readonly jit: Jit;
  /** One by default. Three are named `kafka-1` to `kafka-3`, and any two of them go on without the third. */
  readonly brokers?: BrokerCount;
  /** `end` (the default) ends the whole stack when a server dies, `restart` starts that server again with its data and port. */
  readonly whenServerDies?: 'end' | 'restart';
  /** Ends a start that is under way; a stack that stands is ended by `stop`. */
  readonly signal?: AbortSignal;
  /** Told what happens, in lines for people. */
  readonly report?: (line: string) => void;
  /** Told as soon as a server answers, of Kafka with all its brokers: services need not wait for the slowest one. */
  readonly serverReady?: (name: ServerName, place: StackPlace) => void;
}

/** What a starter of services needs to know of a stack: it is the same from the first server that answers to the last. */
export type StackPlace = Pick<Stack, 'endpoints' | 'folder' | 'lifeline'>;

export interface StackProcess {
  readonly name: InstanceName;
  readonly pid: number;
  readonly logFile: string;
}

export interface Stack {
  readonly endpoints: Endpoints;
  /** As they are now: a restarted server has another process. */
  readonly processes: readonly StackProcess[];
  /** Where data and logs lie. Spools of services belong here too: they go when the stack's data goes. */
  readonly folder: string;
  /** One more `stdio` entry for each process that keeps files in `folder`: the folder is removed when the last holder has ended. */
  readonly lifeline: Writable;
  /** Names one file that is removed behind the last user too, if it still holds `content` then. */
  removeBehind(file: string, content: string): void;
  /** Resolves when a server ended that nobody told to and that is not restarted; everything else has ended by then. */
  readonly failed: Promise<Failure>;
  /**
   * Ends one server and starts it again with the same port and data, once `whileAway` has ended; `kill` gives it no chance to close its
   * files.
   */
  restart(name: InstanceName, how?: 'orderly' | 'kill', whileAway?: () => Promise<void>): Promise<void>;
  /** Ends all servers; afterwards the temporary folder is gone, unless a process that holds the lifeline still lives. */
  stop(): Promise<void>;
}

/**
 * Starts Kafka, OpenSearch and an S3 server side by side on free ports of loopback, and waits until each has answered a request.
 * @throws Failure, one sentence and the end of the log, after everything that was started has ended
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const outer = options.signal ?? new AbortController().signal;
  const toolchain = await prepareServers({
    env: processEnvironment(),
    signal: outer,
    step: (what, work) => {
      options.report?.(what);
      return work();
    },
  });
  const folders = makeFolders(options.dataFolder, toolchain.openSearch, options.brokers);
  let servers: readonly Server[] = [];
  const endAll = async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await folders.lifeline.release(JANITOR_GRACE_MS);
  };
  try {
    const plan = await planServers({
      toolchain,
      folders,
      jit: options.jit,
      brokers: options.brokers ?? 1,
      archiveOf: (name) => (existsSync(toolchain.archives[name]) ? { use: toolchain.archives[name] } : undefined),
    });
    servers = plan.servers.map((server) => new Server(server));
    const waited = new Set(servers);
    await startAll(servers, outer, (server, seconds) => {
      options.report?.(`${server.name} answers after ${seconds.toFixed(1)} s`);
      waited.delete(server);
      if ([...waited].some((other) => other.server === server.server)) return;
      options.serverReady?.(server.server, { endpoints: plan.endpoints, folder: folders.data, lifeline: folders.lifeline.stream });
    });
    return stackOf(plan.endpoints, servers, folders, endAll, options);
  } catch (failed) {
    await endAll();
    throw failed;
  }
}

/** All at once; the first failure ends the waiting for the others. */
async function startAll(servers: readonly Server[], outer: AbortSignal, ready: (server: Server, seconds: number) => void): Promise<void> {
  const aborter = new AbortController();
  const signal = AbortSignal.any([outer, aborter.signal]);
  try {
    await Promise.all(
      servers.map(async (server) => {
        const startedMs = Date.now();
        await server.start(signal);
        ready(server, (Date.now() - startedMs) / 1000);
      }),
    );
  } catch (failed) {
    aborter.abort(failed);
    throw failed;
  }
}

function stackOf(
  endpoints: Endpoints,
  servers: readonly Server[],
  folders: Folders,
  endAll: () => Promise<void>,
  options: StackOptions,
): Stack {
  const supervision = superviseServers(servers, options.whenServerDies ?? 'end', endAll, options.report ?? (() => {}));
  return {
    endpoints,
    folder: folders.data,
    lifeline: folders.lifeline.stream,
    removeBehind: folders.lifeline.removeBehind,
    failed: supervision.failed,
    get processes() {
      return servers.flatMap(({ name, pid, logFile }) => (pid === undefined ? [] : [{ name, pid, logFile }]));
    },
    restart: supervision.restart,
    stop: supervision.stop,
  };
}
