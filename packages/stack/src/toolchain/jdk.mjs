// Which Java runs the servers.
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { Failure } from './failure.mjs';

export const OLDEST_JAVA = 17;
/** OpenSearch 3 is compiled for this version. */
export const OLDEST_JAVA_FOR_OPENSEARCH_3 = 21;

/**
 * @typedef {object} Jdk
 * @property {string} home
 * @property {string} version as its `release` file says it, for example 25.0.1
 * @property {number} major
 */
/** @typedef {Readonly<Record<string, string | undefined>>} Environment */

const INSTALL =
  'install JDK 21 or newer, or at least 17 (Debian: apt-get install -y default-jdk-headless; macOS: brew install openjdk; others: adoptium.net)';

/** @param {string} home @returns {Jdk | undefined} undefined where no JDK (with compiler) lies */
export function readJdk(home) {
  if (!existsSync(join(home, 'bin', 'javac')) || !existsSync(join(home, 'release'))) return undefined;
  const version = /^JAVA_VERSION="([^"]+)"/m.exec(readFileSync(join(home, 'release'), 'utf8'))?.[1];
  if (version === undefined) return undefined;
  const [first, second] = version.split(/[._+-]/).map(Number);
  return { home, version, major: (first === 1 ? second : first) ?? 0 };
}

/** Folders in which JDKs are commonly installed. @param {Environment} env @param {string} systemRoot */
function candidateHomes(env, systemRoot) {
  const homes = [env.JAVA_HOME ?? ''];
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const javac = join(folder, 'javac');
    if (folder !== '' && existsSync(javac)) homes.push(dirname(dirname(realpathSync(javac))));
  }
  const user = env.HOME ?? homedir();
  const system = (/** @type {string} */ folder) => join(systemRoot, folder);
  const parents = [
    system('usr/lib/jvm'),
    system('usr/java'),
    system('opt/java'),
    join(user, '.sdkman/candidates/java'),
    join(user, '.jdks'),
  ];
  for (const parent of parents) homes.push(...children(parent));
  for (const parent of [system('Library/Java/JavaVirtualMachines'), join(user, 'Library/Java/JavaVirtualMachines')]) {
    homes.push(...children(parent).map((child) => join(child, 'Contents/Home')));
  }
  for (const cellar of [system('opt/homebrew/opt'), system('usr/local/opt')]) {
    homes.push(
      ...children(cellar)
        .filter((child) => child.includes('/openjdk'))
        .map((child) => join(child, 'libexec/openjdk.jdk/Contents/Home')),
    );
  }
  return homes.filter((home) => home !== '');
}

/** @param {string} folder */
function children(folder) {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return []; // A place where this machine has no JDKs.
  }
}

/**
 * The newest of some JDKs; equal versions: the one named first.
 * @param {readonly Jdk[]} jdks
 */
export function newest(jdks) {
  return jdks.reduce(
    (/** @type {Jdk | undefined} */ best, jdk) => (best === undefined || compareVersions(jdk.version, best.version) > 0 ? jdk : best),
    undefined,
  );
}

/** @param {string} a @param {string} b */
function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => version.split(/[._+-]/).map((part) => Number.parseInt(part, 10) || 0));
  for (let i = 0; i < Math.max(left?.length ?? 0, right?.length ?? 0); i++) {
    const difference = (left?.[i] ?? 0) - (right?.[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * The JDK to use: the one TAILRACE_JAVA names, else JAVA_HOME's when it is new enough, else the newest that is installed.
 * @param {Environment} env
 * @param {string} [systemRoot] where the system's folders lie; for tests
 * @returns {Jdk}
 * @throws Failure without a JDK that is new enough
 */
export function chooseJdk(env, systemRoot = '/') {
  const forced = env.TAILRACE_JAVA;
  if (forced !== undefined && forced !== '') {
    const jdk = readJdk(forced);
    if (jdk === undefined)
      throw new Failure(
        `TAILRACE_JAVA names ${forced}, where no JDK lies (bin/javac and a release file): set it to a JDK's folder, or unset it.`,
        { exitCode: 2 },
      );
    if (jdk.major < OLDEST_JAVA)
      throw new Failure(`TAILRACE_JAVA names Java ${jdk.version}, but Java ${OLDEST_JAVA} or newer is needed: ${INSTALL}.`, {
        exitCode: 2,
      });
    return jdk;
  }
  const home = env.JAVA_HOME;
  const own = home === undefined || home === '' ? undefined : readJdk(home);
  if (own !== undefined && own.major >= OLDEST_JAVA) return own;
  const found = candidateHomes(env, systemRoot).flatMap((candidate) => readJdk(candidate) ?? []);
  const best = newest(found);
  if (best === undefined)
    throw new Failure(`No JDK was found, and Kafka, OpenSearch and the S3 server run on Java: ${INSTALL}, then run the command again.`);
  if (best.major < OLDEST_JAVA) {
    throw new Failure(
      `The newest JDK found is ${best.version} in ${best.home}, but Java ${OLDEST_JAVA} or newer is needed: ${INSTALL}, then run the command again.`,
    );
  }
  return best;
}

/**
 * Which line of OpenSearch runs: TAILRACE_OPENSEARCH, else 3 where the Java can run it.
 * @param {Environment} env @param {Jdk} jdk
 * @returns {2 | 3}
 */
export function chooseOpenSearch(env, jdk) {
  const forced = env.TAILRACE_OPENSEARCH ?? '';
  const canRun3 = jdk.major >= OLDEST_JAVA_FOR_OPENSEARCH_3;
  if (forced === '') return canRun3 ? 3 : 2;
  if (forced !== '2' && forced !== '3')
    throw new Failure(`TAILRACE_OPENSEARCH is "${forced}": set it to 2 or 3, or unset it.`, { exitCode: 2 });
  if (forced === '3' && !canRun3) {
    throw new Failure(
      `TAILRACE_OPENSEARCH=3 needs Java ${OLDEST_JAVA_FOR_OPENSEARCH_3}, and Java ${jdk.version} in ${jdk.home} was chosen: install JDK ${OLDEST_JAVA_FOR_OPENSEARCH_3} or newer, or set TAILRACE_OPENSEARCH=2.`,
      { exitCode: 2 },
    );
  }
  return forced === '3' ? 3 : 2;
}
