// Makes this clone ready to run, and nothing else: `npm start` and `npm test` do the same before their own work.
import { bootstrap } from './lib/bootstrap.mjs';
import { runScript } from './lib/run.mjs';

await runScript(async (context) => {
  await bootstrap(context);
  return 0;
});
