// `npm run restore`: makes the clone ready, then shows that a group which Kafka has overtaken gets every record from the lake, once and in order.
import { bootstrap } from './lib/bootstrap.mjs';
import { readSizes, tellOutcome } from './lib/proof.mjs';
import { runScript } from './lib/run.mjs';

const LONG = { records: 2_000_000, stops: 3 };
const SHORT = { records: 50_000, stops: 2 };
const MAX = { records: 100_000_000, stops: 1000 };

const HELP = `Usage: npm run restore -- [--short] [--records N] [--stops N] [--seed N]
Writes records, has them archived, deletes all of them from Kafka, and lets a group come back that has read none: it is stopped on the way and goes on.
Every record has to come once, in the order of its partition and of its key, from the lake and then from Kafka.
  --short      ${SHORT.records} records and ${SHORT.stops} stops, instead of ${LONG.records} and ${LONG.stops}
  --records N  how many records
  --stops N    how often the reader is stopped on the way
  --seed N     repeats a run's events

Exit codes: 0 every record came once and in order; 1 one did not, or the run failed; 2 wrong use.
`;

await runScript(async (context) => {
  const { help, ...asked } = readSizes('npm run restore', process.argv.slice(2), { long: LONG, short: SHORT, max: MAX });
  if (help) {
    process.stdout.write(HELP);
    return 0;
  }
  await bootstrap(context);
  const { restore } = await import('../e2e/dist/src/restore/restore.js');
  const report = (/** @type {string} */ line) => context.print(`restore: ${line}`);
  return tellOutcome(await restore({ ...asked, signal: context.signal, report }), 'Every record came once and in order.');
});
