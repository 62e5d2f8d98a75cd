// What a build of the native client needs from the system.
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Failure } from '../../packages/stack/src/toolchain/failure.mjs';
import { runGuarded, runStep } from '../../packages/stack/src/toolchain/processes.mjs';

/** A file or program that shows that a Debian package is there. */
const NEEDED = [
  { debian: 'libzstd-dev', header: 'zstd.h' },
  { debian: 'liblz4-dev', header: 'lz4.h' },
  { debian: 'libssl-dev', header: 'openssl/ssl.h' },
  { debian: 'libsasl2-dev', header: 'sasl/sasl.h' },
  { debian: 'libcurl4-openssl-dev', header: 'curl/curl.h' },
  { debian: 'zlib1g-dev', header: 'zlib.h' },
  { debian: 'g++', program: 'g++' },
  { debian: 'make', program: 'make' },
  { debian: 'python3', program: 'python3' },
];
const APT = ['-o', 'DPkg::Lock::Timeout=300'];

/**
 * Installs what is missing where that is allowed, else says what to install.
 * @param {import('./bootstrap.mjs').Context} context
 */
export async function installBuildTools(context) {
  if (process.platform !== 'linux') return; // The system's own compiler reports itself when it is missing.
  const missing = missingPackages(context.env);
  if (missing.length === 0) return;
  const names = missing.join(' ');
  if (!existsSync('/usr/bin/apt-get')) {
    throw new Failure(
      `The native Kafka client has to be built, and headers or tools for it are missing: install what Debian calls ${names}, then run the command again.`,
    );
  }
  if (process.getuid?.() !== 0) {
    throw new Failure(
      `The native Kafka client has to be built, and headers or tools for it are missing: run sudo apt-get install -y ${names}, then run the command again.`,
    );
  }
  await context.steps.step(`installing ${names}`, () => aptInstall(missing, context));
}

/** @param {Readonly<Record<string, string | undefined>>} env */
function missingPackages(env) {
  const folders = ['/usr/include', `/usr/include/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`, '/usr/local/include'];
  const programs = (env.PATH ?? '').split(delimiter);
  return NEEDED.flatMap(({ debian, header, program }) => {
    const found =
      header === undefined
        ? programs.some((folder) => existsSync(join(folder, program ?? '')))
        : folders.some((folder) => existsSync(join(folder, header)));
    return found ? [] : [debian];
  });
}

/** @param {readonly string[]} packages @param {import('./bootstrap.mjs').Context} context */
async function aptInstall(packages, { env, signal, logs }) {
  const run = { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' }, signal };
  const install = [...APT, 'install', '-y', '--no-install-recommends', ...packages];
  // An interrupted run of it earlier would make it refuse to do anything.
  await runGuarded('dpkg', ['--configure', '-a'], { ...run, logFile: join(logs, 'dpkg.log') });
  const hasLists = existsSync('/var/lib/apt/lists') && readdirSync('/var/lib/apt/lists').some((name) => name.includes('Packages'));
  if (hasLists && (await runGuarded('apt-get', install, { ...run, logFile: join(logs, 'apt-install.log') })) === 0) return;
  await runStep('Fetching the lists of Debian packages', 'apt-get', [...APT, 'update'], { ...run, logFile: join(logs, 'apt-update.log') });
  await runStep(`Installing ${packages.join(' ')}`, 'apt-get', install, { ...run, logFile: join(logs, 'apt-install.log') });
}
