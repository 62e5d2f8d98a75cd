// `npm run e2e`: makes the clone ready, then proves on the whole running system what the README promises. With `-- --short` only what
// fits into three minutes; names behind it (`-- server-outages`) choose scenarios.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from '../packages/stack/src/toolchain/failure.mjs';
import { runGuarded } from '../packages/stack/src/toolchain/processes.mjs';
import { bootstrap } from './lib/bootstrap.mjs';
import { sumResults } from './lib/results.mjs';
import { runScript } from './lib/run.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = join(ROOT, 'e2e');
const RESULT = join(ROOT, '.results/e2e.json');
const MEASURED = join(ROOT, '.results/e2e-measured.txt');

await runScript(async ({ env, signal, print }) => {
  const { short, files } = parse(process.argv.slice(2));
  await bootstrap({ env, signal, print });
  for (const old of [RESULT, MEASURED]) rmSync(old, { force: true });
  const code = await runGuarded(join(ROOT, 'node_modules/.bin/vitest'), ['run', ...files], {
    cwd: FOLDER,
    env: { ...env, ...(short ? { E2E_SHORT: '1' } : {}) },
    signal,
  });
  const results = existsSync(RESULT) ? [JSON.parse(readFileSync(RESULT, 'utf8'))] : [];
  const { passed, failed } = sumResults(results);
  // A run that broke before it could write its results is a failure as well.
  const broken = failed === 0 && code !== 0 ? 1 : 0;
  process.stdout.write(`${passed} passed, ${failed + broken} failed\n`);
  return passed > 0 && failed + broken === 0 ? 0 : 1;
});

/**
 * @param {readonly string[]} argv
 * @throws Failure on anything but --short and names of scenarios
 */
function parse(argv) {
  const names = argv.filter((arg) => arg !== '--short');
  const known = readdirSync(join(FOLDER, 'scenarios')).map((file) => file.replace('.test.ts', ''));
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Failure(`There is no scenario "${unknown}": name some of ${known.join(', ')}, or give --short, or nothing.`, { exitCode: 2 });
  }
  return { short: argv.includes('--short'), files: names.map((name) => `scenarios/${name}.test.ts`) };
}
