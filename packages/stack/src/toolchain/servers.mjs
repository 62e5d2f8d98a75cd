// Everything the servers need on disk before they can be started: a JDK, their jars, the launcher.
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cached, keyOf, makeCacheRoot } from './cache.mjs';
import { Failure } from './failure.mjs';
import { chooseJdk, chooseOpenSearch } from './jdk.mjs';
import { runStep } from './processes.mjs';

/** Beside both `src` and `dist`, so the same path leads to it from sources and from a build. */
const JAVA_FOLDER = fileURLToPath(new URL('../../java/', import.meta.url));
const LAUNCHER_JAR = 'launcher.jar';
/** Pinned: the version that Maven picks by itself differs from machine to machine. */
const COPY_DEPENDENCIES = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

/**
 * @typedef {'kafka' | 'opensearch' | 's3proxy'} ServerName
 * @typedef {object} Toolchain
 * @property {import('./jdk.mjs').Jdk} jdk
 * @property {2 | 3} openSearch
 * @property {string} cacheRoot
 * @property {Record<ServerName, string>} classPaths absolute, and always in the same order: a class archive is bound to it
 * @property {Record<ServerName, string>} archives where the server's class archive lies once it has been made
 */
/**
 * @typedef {object} Preparation
 * @property {Readonly<Record<string, string | undefined>>} env
 * @property {AbortSignal} [signal]
 * @property {(what: string, work: () => Promise<void>) => Promise<void>} [step] runs, names and times what takes long
 */

/**
 * Fetches and builds what is missing in the user's cache; where nothing is missing this takes milliseconds.
 * @param {Preparation} preparation
 * @returns {Promise<Toolchain>}
 * @throws Failure without a fitting JDK, Maven or network
 */
export async function prepareServers(preparation) {
  const { env } = preparation;
  const jdk = chooseJdk(env);
  const openSearch = chooseOpenSearch(env, jdk);
  const root = makeCacheRoot(env);
  // One after the other: two Mavens at once can damage the repository that they share.
  const kafka = await fetchJars('kafka', root, preparation, jdk);
  const search = await fetchJars(`opensearch${openSearch}`, root, preparation, jdk);
  const s3proxy = await fetchJars('s3proxy', root, preparation, jdk);
  const launcher = await buildLauncher([kafka, search, s3proxy], openSearch, root, preparation, jdk);
  const classPaths = {
    kafka: classPath(launcher, kafka),
    opensearch: classPath(launcher, search),
    s3proxy: classPath(launcher, s3proxy),
  };
  return { jdk, openSearch, cacheRoot: root, classPaths, archives: archivesOf(root, classPaths, jdk) };
}

/**
 * @param {string} name of a pom in java/poms @param {string} root @param {Preparation} preparation @param {import('./jdk.mjs').Jdk} jdk
 */
async function fetchJars(name, root, preparation, jdk) {
  const pom = join(JAVA_FOLDER, 'poms', `${name}.xml`);
  const key = keyOf([readFileSync(pom), COPY_DEPENDENCIES]);
  return cached(join(root, 'jars', `${name}-${key}`), (folder) =>
    announced(preparation, `fetching the ${name} jars with Maven`, async () => {
      const logFile = join(root, 'logs', `jars-${name}.log`);
      const args = [
        '-q',
        '-B',
        '-Dstyle.color=never',
        '-f',
        pom,
        COPY_DEPENDENCIES,
        `-DoutputDirectory=${folder}`,
        '-DincludeScope=runtime',
      ];
      await runStep(`Fetching the ${name} jars with Maven`, findMaven(preparation.env), args, {
        env: javaEnvironment(preparation.env, jdk),
        logFile,
        ...(preparation.signal === undefined ? {} : { signal: preparation.signal }),
      });
      if (!existsSync(folder)) throw new Failure(`Maven fetched no ${name} jars: see its log for the cause.`, { logFile });
    }),
  );
}

/** @param {Readonly<Record<string, string | undefined>>} env */
function findMaven(env) {
  const folders = [env.MAVEN_HOME, env.M2_HOME].flatMap((home) => (home === undefined || home === '' ? [] : [join(home, 'bin')]));
  for (const folder of [...folders, ...(env.PATH ?? '').split(delimiter)]) {
    if (folder !== '' && existsSync(join(folder, 'mvn'))) return join(folder, 'mvn');
  }
  throw new Failure(
    'Maven (mvn) was not found, and it fetches the servers: install it (Debian: apt-get install -y maven; macOS: brew install maven), then run the command again.',
  );
}

/**
 * Maven keeps the Java that the user has set up for it (its trust store may be the only one that knows a proxy's certificate); ours only helps out.
 * @param {Readonly<Record<string, string | undefined>>} env @param {import('./jdk.mjs').Jdk} jdk
 */
function javaEnvironment(env, jdk) {
  const hasJava =
    (env.JAVA_HOME ?? '') !== '' || (env.PATH ?? '').split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, 'java')));
  return hasJava ? env : { ...env, JAVA_HOME: jdk.home };
}

/**
 * @param {readonly string[]} jarFolders @param {2 | 3} openSearch @param {string} root @param {Preparation} preparation
 * @param {import('./jdk.mjs').Jdk} jdk
 */
async function buildLauncher(jarFolders, openSearch, root, preparation, jdk) {
  const sources = ['launcher', `opensearch${openSearch}`].flatMap((folder) =>
    readdirSync(join(JAVA_FOLDER, folder))
      .sort()
      .map((file) => join(JAVA_FOLDER, folder, file)),
  );
  const key = keyOf([...sources.map((source) => readFileSync(source)), ...jarFolders, jdk.version]);
  // In a jar: a folder of classes on the class path silently switches class archives off.
  const entry = await cached(join(root, 'launcher', key), (folder) =>
    announced(preparation, 'compiling the launcher', async () => {
      const classes = `${folder}-classes`;
      mkdirSync(folder);
      const run = {
        env: preparation.env,
        logFile: join(root, 'logs', 'launcher.log'),
        ...(preparation.signal === undefined ? {} : { signal: preparation.signal }),
      };
      const libraries = jarFolders.map((folder) => join(folder, '*')).join(delimiter);
      const what = 'Compiling the launcher of the servers';
      await runStep(
        what,
        join(jdk.home, 'bin', 'javac'),
        ['-nowarn', '-encoding', 'UTF-8', '-cp', libraries, '-d', classes, ...sources],
        run,
      );
      await runStep(what, join(jdk.home, 'bin', 'jar'), ['--create', '--file', join(folder, LAUNCHER_JAR), '-C', classes, '.'], run);
    }),
  );
  return join(entry, LAUNCHER_JAR);
}

/** @param {Preparation} preparation @param {string} what @param {() => Promise<void>} work */
function announced(preparation, what, work) {
  return preparation.step === undefined ? work() : preparation.step(what, work);
}

/** @param {string} launcher @param {string} jarFolder */
function classPath(launcher, jarFolder) {
  const jars = readdirSync(jarFolder)
    .filter((name) => name.endsWith('.jar'))
    .sort();
  return [launcher, ...jars.map((name) => join(jarFolder, name))].join(delimiter);
}

/**
 * @param {string} root @param {Record<ServerName, string>} classPaths @param {import('./jdk.mjs').Jdk} jdk
 * @returns {Record<ServerName, string>}
 */
function archivesOf(root, classPaths, jdk) {
  const archive = (/** @type {ServerName} */ server) =>
    join(root, 'archives', `${server}-${keyOf([classPaths[server], jdk.home, jdk.version])}.jsa`);
  return { kafka: archive('kafka'), opensearch: archive('opensearch'), s3proxy: archive('s3proxy') };
}
