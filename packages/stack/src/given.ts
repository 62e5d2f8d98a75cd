import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { endpointsFromEnvironment } from './config.ts';
import { makeScratchFolder } from './folders.ts';
import { startJanitor } from './lifeline.ts';
import type { Stack } from './stack.ts';
import { Failure } from './toolchain/failure.mjs';

const JANITOR_GRACE_MS = 5_000;

/**
 * Servers that somebody else runs, named by the environment, as a stack without processes: its folder holds only logs and spools.
 * @throws Failure, one sentence, when the environment does not name them all
 */
export function useGivenServers(): Stack {
  const endpoints = givenEndpoints();
  const folder = makeScratchFolder();
  mkdirSync(join(folder, 'logs'));
  const lifeline = startJanitor(folder, undefined);
  return {
    endpoints,
    folder,
    lifeline: lifeline.stream,
    removeBehind: lifeline.removeBehind,
    processes: [],
    // Given servers are watched by those who run them: the services wait out their outages.
    failed: new Promise(() => {}),
    restart: async (name) => {
      throw new Failure(`${name} is a given server: restart it where it runs.`);
    },
    stop: () => lifeline.release(JANITOR_GRACE_MS),
  };
}

function givenEndpoints() {
  try {
    return endpointsFromEnvironment();
  } catch (cause) {
    const { message } = cause as Error;
    throw new Failure(`${message.replace(/: run npm test.*/, '')}: set them, or leave --servers given away.`, { exitCode: 2, cause });
  }
}
