// The npm packages of the clone.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runStep } from '../../packages/stack/src/toolchain/processes.mjs';

/** With npm's own waits a machine without a network is told so after more than two minutes. */
const RETRIES = ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=10000'];

/**
 * @typedef {{ version?: string, integrity?: string, link?: boolean, optional?: boolean, resolved?: string }} LockedPackage
 * @typedef {{ packages?: Record<string, LockedPackage> }} Lock
 */

/**
 * Whether what is installed is what the lock names. npm writes its own record last, so a broken installation has none; and a
 * developer's `npm install` counts as much as our `npm ci`.
 * @param {Lock} lock package-lock.json
 * @param {Lock} installed node_modules/.package-lock.json
 */
export function isInstalled(lock, installed) {
  const have = installed.packages ?? {};
  return Object.entries(lock.packages ?? {}).every(([path, wanted]) => {
    if (!path.startsWith('node_modules/') && !path.includes('/node_modules/')) return true; // The root and the workspaces themselves.
    const found = have[path];
    if (found === undefined) return wanted.optional === true; // Meant for another platform.
    return found.version === wanted.version && found.integrity === wanted.integrity && found.link === wanted.link;
  });
}

/** @param {string} root */
function readLocks(root) {
  const read = (/** @type {string} */ file) =>
    existsSync(file) ? /** @type {Lock} */ (JSON.parse(readFileSync(file, 'utf8'))) : undefined;
  return { lock: read(join(root, 'package-lock.json')), installed: read(join(root, 'node_modules/.package-lock.json')) };
}

/**
 * Installs the packages when the lock and what is installed differ.
 * @param {import('./bootstrap.mjs').Context} context
 */
export async function installPackages({ root, env, signal, logs, steps }) {
  const { lock, installed } = readLocks(root);
  if (lock !== undefined && installed !== undefined && isInstalled(lock, installed)) return;
  await steps.step('installing the npm packages', () =>
    // --include=dev: with NODE_ENV=production in the environment the compiler would be left out.
    runStep(
      'Installing the npm packages',
      ...npm(env, ['ci', '--ignore-scripts', '--include=dev', '--no-audit', '--no-fund', ...RETRIES]),
      {
        cwd: root,
        env,
        signal,
        logFile: join(logs, 'npm.log'),
      },
    ),
  );
}

/**
 * The npm that runs us, else the one on the PATH.
 * @param {Readonly<Record<string, string | undefined>>} env @param {string[]} args
 * @returns {[string, string[]]}
 */
export function npm(env, args) {
  const own = env.npm_execpath;
  return own !== undefined && /npm-cli\.js$/.test(own) ? [process.execPath, [own, ...args]] : ['npm', args];
}
