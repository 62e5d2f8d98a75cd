// The native part of the Kafka client: from our cache, else as its makers' binary, else built here.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { cached } from '../../packages/stack/src/toolchain/cache.mjs';
import { Failure } from '../../packages/stack/src/toolchain/failure.mjs';
import { makeFolder } from '../../packages/stack/src/toolchain/make-folder.mjs';
import { runGuarded, runStep } from '../../packages/stack/src/toolchain/processes.mjs';
import { installBuildTools } from './build-tools.mjs';
import { npm } from './packages.mjs';

const PACKAGE = '@confluentinc/kafka-javascript';
const BINARY = 'build/Release/confluent-kafka-javascript.node';
/** Written into the build once it was seen to load and to have what we need. */
const CHECKED = 'build/.tailrace-checked';
/** A build without the headers of a library lacks that feature and says nothing. */
const NEEDED_FEATURES = ['zstd', 'lz4', 'ssl', 'sasl_scram'];
/** What of a build is needed to run it: 16 of its 280 MB. */
const RUNTIME_FILE = /\.(node|dylib)$|\.so(\.\d+)*$/;

/**
 * Names a build by all that it depends on.
 * @param {string} version of the package
 * @param {{ abi: string, platform: string, arch: string, libc: string, system: string }} machine
 */
export function nativeKey(version, machine) {
  return [version, `abi${machine.abi}`, machine.platform, machine.arch, machine.libc, machine.system].join('-').replace(/[^\w.-]/g, '_');
}

function thisMachine() {
  return { abi: process.versions.modules, platform: process.platform, arch: process.arch, libc: libcFamily(), system: systemRelease() };
}

function libcFamily() {
  if (process.platform !== 'linux') return 'system';
  // With it the report asks the name server about every open connection.
  Object.assign(process.report, { excludeNetwork: true });
  const report = /** @type {{ header?: { glibcVersionRuntime?: string } }} */ (/** @type {unknown} */ (process.report.getReport()));
  return report.header?.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

function systemRelease() {
  if (!existsSync('/etc/os-release')) return `${process.platform}${release().split('.')[0]}`;
  const lines = readFileSync('/etc/os-release', 'utf8');
  const field = (/** @type {string} */ name) => new RegExp(`^${name}="?([^"\n]*)`, 'm').exec(lines)?.[1] ?? '';
  return `${field('ID')}${field('VERSION_ID')}`;
}

/**
 * Makes the native client ready: loaded once in a process of its own, with the features that we need.
 * @param {import('./bootstrap.mjs').Context} context
 */
export async function prepareNativeClient(context) {
  const folder = join(context.root, 'node_modules', PACKAGE);
  const { version, binary } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const key = nativeKey(version, thisMachine());
  if (existsSync(join(folder, BINARY)) && readText(join(folder, CHECKED)) === key) return;

  const entry = join(context.cache, 'native', key);
  if (!existsSync(join(folder, BINARY)) && existsSync(entry))
    cpSync(entry, join(folder, 'build'), { recursive: true, verbatimSymlinks: true });
  let missing = existsSync(join(folder, BINARY)) ? await missingFeatures(context) : 'not built';
  if (missing !== '') {
    rmSync(entry, { recursive: true, force: true });
    rmSync(join(folder, 'build'), { recursive: true, force: true });
    await obtain(context, prebuiltUrl(version, binary.host));
    missing = await missingFeatures(context);
  }
  if (missing !== '') {
    throw new Failure(`The native Kafka client does not work (${missing}): delete node_modules, then run the command again.`, {
      logFile: checkLog(context),
    });
  }
  writeFileSync(join(folder, CHECKED), key);
  await cached(entry, async (path) => copyRuntime(join(folder, 'build'), path));
}

/** @param {import('./bootstrap.mjs').Context} context @param {string} url */
async function obtain(context, url) {
  const hasBinary = await answersOk(url, context.signal);
  if (!hasBinary) await installBuildTools(context);
  const { JOBS: _jobs, MAKEFLAGS: _makeFlags, ...env } = context.env;
  const what = hasBinary ? 'fetching the native Kafka client' : 'building the native Kafka client (1 to 3 minutes)';
  await context.steps.step(what, () =>
    runStep('Building the native Kafka client', ...npm(env, ['rebuild', PACKAGE, '--ignore-scripts=false', '--foreground-scripts']), {
      cwd: context.root,
      env: {
        ...env,
        ...nodeHeaders(),
        // Only a build from source reads it: the static one needs archives of all libraries, which distributions do not ship.
        CKJS_LINKING: 'dynamic',
        ...(hasBinary ? {} : { npm_config_build_from_source: 'true' }),
      },
      signal: context.signal,
      logFile: join(context.logs, 'native-client.log'),
    }),
  );
}

/** Node's own headers, where they lie beside it: node-gyp would else fetch them. */
function nodeHeaders() {
  const prefix = dirname(dirname(process.execPath));
  return existsSync(join(prefix, 'include/node/node.h')) ? { npm_config_nodedir: prefix } : {};
}

/** Where the package's makers keep the binary for this machine. @param {string} version @param {string} host */
function prebuiltUrl(version, host) {
  const { abi, platform, arch, libc } = thisMachine();
  const family = platform === 'linux' ? libc : 'unknown';
  return `${host.replace(/\/$/, '')}/v${version}/confluent-kafka-javascript-v${version}-node-v${abi}-${platform}-${family}-${arch}.tar.gz`;
}

/** @param {string} url @param {AbortSignal} signal */
async function answersOk(url, signal) {
  try {
    return (await fetch(url, { method: 'HEAD', signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]) })).ok;
  } catch {
    signal.throwIfAborted();
    return false; // Not to be reached from here: it is built instead.
  }
}

/**
 * What the native client lacks, '' when it is whole. In a process of its own: a binary for another system may crash the one that loads it.
 * @param {import('./bootstrap.mjs').Context} context
 */
async function missingFeatures(context) {
  const program = `const { features } = require('${PACKAGE}');
    const missing = ${JSON.stringify(NEEDED_FEATURES)}.filter((feature) => !features.includes(feature));
    if (missing.length > 0) { console.log('built without ' + missing.join(', ')); process.exit(3); }`;
  const logFile = checkLog(context);
  const code = await runGuarded(process.execPath, ['-e', program], {
    cwd: context.root,
    env: context.env,
    signal: context.signal,
    logFile,
  });
  if (code === 0) return '';
  return code === 3 ? readText(logFile).trim() : `loading it ended with exit code ${code}`;
}

/** @param {import('./bootstrap.mjs').Context} context */
function checkLog(context) {
  return join(context.logs, 'native-client-check.log');
}

/** @param {string} build @param {string} target */
function copyRuntime(build, target) {
  for (const file of readdirSync(build, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    if (!RUNTIME_FILE.test(file.name) || file.isDirectory() || path.includes('obj.target')) continue;
    const to = join(target, relative(build, path));
    makeFolder(dirname(to));
    cpSync(path, to, { verbatimSymlinks: true });
  }
}

/** @param {string} file */
function readText(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
