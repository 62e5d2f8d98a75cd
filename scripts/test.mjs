// `npm test`: makes the clone ready, then runs every test, those against real servers included.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runGuarded } from '../packages/stack/src/toolchain/processes.mjs';
import { bootstrap } from './lib/bootstrap.mjs';
import { readResults, sumResults } from './lib/results.mjs';
import { runScript, takesNothing } from './lib/run.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const RESULTS = join(ROOT, '.results');
const INTEGRATION = ['test:serial', 'test:concurrent'];
const TURBO = join(ROOT, 'node_modules/.bin/turbo');

await runScript(async ({ env, signal, print }) => {
  takesNothing('npm test');
  await bootstrap({ env, signal, print });
  rmSync(RESULTS, { recursive: true, force: true });
  const run = { cwd: ROOT, env: { ...env, TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1' }, signal };
  // --continue: a package that fails must not hide what the others have to say.
  const unit = await runGuarded(TURBO, ['run', 'test:unit', 'test:scripts', '--concurrency=2', '--continue'], run);
  // Both at the same time: see vitest.base.ts.
  const integration = await runGuarded(
    process.execPath,
    [join(ROOT, 'packages/stack/dist/cli.js'), '--', TURBO, 'run', ...INTEGRATION, '--concurrency=2', '--continue'],
    run,
  );
  const { passed, failed } = sumResults(readResults(RESULTS));
  // A run that broke before it could write its results is a failure as well.
  const broken = failed === 0 && (unit !== 0 || integration !== 0) ? 1 : 0;
  process.stdout.write(`${passed} passed, ${failed + broken} failed\n`);
  return passed > 0 && failed + broken === 0 ? 0 : 1;
});
