// `npm run story`: makes the clone ready, then tells on real servers what the system exists for, and checks it: a parser drops a window and a replay brings
// it back, once from Kafka and once with the lake's help; then the indexer comes back from behind Kafka's retention.
import { Failure } from '../packages/stack/src/toolchain/failure.mjs';
import { bootstrap } from './lib/bootstrap.mjs';
import { readArguments, seedOf, tellOutcome } from './lib/proof.mjs';
import { runScript } from './lib/run.mjs';

const HELP = `Usage: npm run story -- [--brokers 1|3] [--seed N]
Has events flow through the gateway; gives the indexer a parser with a bug and mends it; brings the window back by a replay, from Kafka and then, with half
of another window deleted there, with the lake's help; stops the indexer until Kafka has expired part of its backlog. Alerts are decided upon all along, and
none may come of a replay. Then counts every record.
  --brokers N  Kafka brokers (default: 1)
  --seed N     the seed of the events

Exit codes: 0 all is as it has to be; 1 something differs, or the run failed; 2 wrong use.
`;

await runScript(async (context) => {
  const { help, ...asked } = parse(process.argv.slice(2));
  if (help) {
    process.stdout.write(HELP);
    return 0;
  }
  await bootstrap(context);
  const { story } = await import('../e2e/dist/src/story/story.js');
  return tellOutcome(
    await story({ ...asked, signal: context.signal, report: (line) => context.print(`story: ${line}`) }),
    'Each event is in the index once, no other group was moved, and no alert was told of a replay.',
  );
});

/**
 * @param {readonly string[]} argv
 * @throws Failure with exit code 2
 */
function parse(argv) {
  const options = /** @type {const} */ ({
    brokers: { type: 'string', default: '1' },
    seed: { type: 'string' },
    help: { type: 'boolean', default: false },
  });
  const { help, brokers, seed } = readArguments('npm run story', argv, options);
  if (brokers !== '1' && brokers !== '3') throw new Failure(`--brokers is "${brokers}": give 1 or 3.`, { exitCode: 2 });
  const count = /** @type {1 | 3} */ (Number(brokers));
  return { help, brokers: count, seed: seedOf(seed) };
}
