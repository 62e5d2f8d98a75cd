// `npm start`: makes the clone ready, then runs the pipeline. What runs is apps/start; this file exists because nothing is built yet
// when it begins. Wrong use is told before the long work.
import { parseOptions } from '../apps/start/src/options.mjs';
import { checkDataFolder } from '../packages/stack/src/toolchain/data-folder.mjs';
import { bootstrap } from './lib/bootstrap.mjs';
import { runScript } from './lib/run.mjs';

const startedAtMs = Date.now();
await runScript(async (context) => {
  const options = parseOptions(process.argv.slice(2));
  if ('help' in options) {
    process.stdout.write(options.help);
    return 0;
  }
  if (options.dataFolder !== undefined) checkDataFolder(options.dataFolder, options.brokers);
  await bootstrap(context);
  const { main } = await import('../apps/start/dist/main.js');
  return main(options, { signal: context.signal, startedAtMs });
});
