// `npm run restore`: makes the clone ready, then shows that a group which Kafka has overtaken gets every record from the lake, once and in order.
import { randomInt } from 'node:crypto';
import { bootstrap } from './lib/bootstrap.mjs';
import { MAX_SEED, readArguments, tellOutcome, wholeNumber } from './lib/proof.mjs';
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
  const { help, ...asked } = parse(process.argv.slice(2));
  if (help) {
    process.stdout.write(HELP);
    return 0;
  }
  await bootstrap(context);
  const { restore } = await import('../e2e/dist/src/restore/restore.js');
  const report = (/** @type {string} */ line) => context.print(`restore: ${line}`);
  return tellOutcome(await restore({ ...asked, signal: context.signal, report }), 'Every record came once and in order.');
});

/**
 * @param {readonly string[]} argv
 * @throws Failure with exit code 2
 */
function parse(argv) {
  const options = /** @type {const} */ ({
    short: { type: 'boolean', default: false },
    records: { type: 'string' },
    stops: { type: 'string' },
    seed: { type: 'string' },
    help: { type: 'boolean', default: false },
  });
  const values = readArguments('npm run restore', argv, options);
  const usual = values.short ? SHORT : LONG;
  return {
    help: values.help,
    records: wholeNumber('records', values.records, usual.records, MAX.records),
    stops: wholeNumber('stops', values.stops, usual.stops, MAX.stops),
    seed: wholeNumber('seed', values.seed, randomInt(1, 1_000_000), MAX_SEED),
  };
}
