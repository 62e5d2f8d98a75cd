// `npm run torture`: makes the clone ready, then shows with many records and many kills that nothing is lost, doubled or reordered.
import { bootstrap } from './lib/bootstrap.mjs';
import { readSizes, tellOutcome } from './lib/proof.mjs';
import { runScript } from './lib/run.mjs';

const LONG = { records: 1_000_000, kills: 30 };
const SHORT = { records: 50_000, kills: 5 };
const MAX = { records: 100_000_000, kills: 1000 };

const HELP = `Usage: npm run torture -- [--short] [--records N] [--kills N] [--seed N]
Writes records into three Kafka brokers while archivers and indexers are killed, stopped and go on, join and leave, and brokers are killed;
then counts every record in Kafka, OpenSearch and the lake.
  --short      ${SHORT.records} records and ${SHORT.kills} kills of each group, instead of ${LONG.records} and ${LONG.kills}
  --records N  how many records
  --kills N    how often a member of each group is killed
  --seed N     repeats a run's events and its plan of faults

Exit codes: 0 everything is where it has to be, once; 1 something is not, or the run failed; 2 wrong use.
`;

await runScript(async (context) => {
  const { help, ...asked } = readSizes('npm run torture', process.argv.slice(2), { long: LONG, short: SHORT, max: MAX });
  if (help) {
    process.stdout.write(HELP);
    return 0;
  }
  await bootstrap(context);
  const { torture } = await import('../e2e/dist/src/torture/torture.js');
  const again = `--seed ${asked.seed} --records ${asked.records} --kills ${asked.kills}`;
  context.print(`torture: seed ${asked.seed} (npm run torture -- ${again} repeats it)`);
  return tellOutcome(
    await torture({ ...asked, signal: context.signal, report: context.print }),
    'Nothing is lost, doubled or out of order.',
  );
});
