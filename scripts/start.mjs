// `npm start`: makes the clone ready, then runs the pipeline. What runs is apps/start; this file exists because nothing is built yet
// when it begins.
import { bootstrap } from './lib/bootstrap.mjs';
import { runScript } from './lib/run.mjs';

const startedAtMs = Date.now();
await runScript(async (context) => {
  await bootstrap(context);
  const { main } = await import('../apps/start/dist/main.js');
  return main(process.argv.slice(2), { signal: context.signal, startedAtMs });
});
