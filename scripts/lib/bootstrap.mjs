// Makes a clone ready to run, from nothing: packages, native client, servers, build. Node's built-in modules only, since it runs before
// anything is installed. Where nothing changed since the last time it takes a second.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeCacheRoot } from '../../packages/stack/src/toolchain/cache.mjs';
import { Failure } from '../../packages/stack/src/toolchain/failure.mjs';
import { runStep } from '../../packages/stack/src/toolchain/processes.mjs';
import { prepareServers } from '../../packages/stack/src/toolchain/servers.mjs';
import { prepareNativeClient } from './native-client.mjs';
import { installPackages } from './packages.mjs';
import { createSteps, together } from './steps.mjs';

const OLDEST_NODE = [20, 19];

/**
 * @typedef {object} Context
 * @property {string} root the clone
 * @property {string} cache the user's cache folder of tailrace
 * @property {string} logs one file per step
 * @property {Readonly<Record<string, string | undefined>>} env
 * @property {AbortSignal} signal
 * @property {import('./steps.mjs').Steps} steps
 */

/**
 * @param {object} options
 * @param {Readonly<Record<string, string | undefined>>} options.env
 * @param {AbortSignal} options.signal ends every step and all that it started
 * @param {(line: string) => void} options.print
 * @throws Failure with one sentence; the signal's reason when it was stopped
 */
export async function bootstrap({ env, signal, print }) {
  checkNode(process.versions.node);
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const cache = makeCacheRoot(env);
  const steps = createSteps(print);
  await together(signal, (own) => {
    const context = { root, cache, logs: join(cache, 'logs'), env, steps, signal: own };
    // The build of the native client takes longest and uses one core: jars and class archives come in its shadow.
    const servers = prepareServers({ env, signal: own, step: steps.step });
    const packages = installPackages(context);
    const client = packages.then(() => prepareNativeClient(context));
    const built = packages.then(() => compile(context));
    const archives = Promise.all([servers, built]).then(() => makeArchives(context));
    return [servers, packages, client, built, archives];
  });
  steps.say('ready');
}

/** @param {string} version */
function checkNode(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new Failure(
    `Node ${version} is too old, ${OLDEST_NODE.join('.')} or newer is needed: install it from nodejs.org, then run the command again.`,
  );
}

/** @param {Context} context */
async function compile({ root, env, signal, logs }) {
  const logFile = join(logs, 'build.log');
  await runStep('Building the TypeScript packages', join(root, 'node_modules/.bin/tsc'), ['-b'], { cwd: root, env, signal, logFile });
}

/** @param {Context} context */
async function makeArchives({ signal, steps }) {
  const { trainArchives } = await import('../../packages/stack/dist/index.js');
  await trainArchives(signal, steps.step);
}
