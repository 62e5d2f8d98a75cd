// `npm run story`: makes the clone ready, then tells on real servers what the system exists for, and checks it: a parser drops a window and a replay brings
// it back, once from Kafka and once with the lake's help; then the indexer comes back from behind Kafka's retention.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Failure } from '../packages/stack/src/toolchain/failure.mjs';
import { bootstrap } from './lib/bootstrap.mjs';
import { runScript } from './lib/run.mjs';

const HELP = `Usage: npm run story -- [--brokers 1|3] [--seed N]
Has events flow through the gateway; gives the indexer a parser with a bug and mends it; brings the window back by a replay, from Kafka and then, with half
of another window deleted there, with the lake's help; stops the indexer until Kafka has expired part of its backlog. Then counts every record.
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
  const { table, findings } = await story({ ...asked, signal: context.signal, report: (line) => context.print(`story: ${line}`) });
  for (const [what, value] of table) process.stdout.write(`${what.padEnd(36)}${value}\n`);
  for (const finding of findings) process.stdout.write(`DIFFERS: ${finding}\n`);
  process.stdout.write(
    findings.length === 0 ? 'Each event is in the index once, and no other group was moved.\n' : `${findings.length} findings.\n`,
  );
  return findings.length === 0 ? 0 : 1;
});

/**
 * @param {readonly string[]} argv
 * @throws Failure with exit code 2
 */
function parse(argv) {
  const options = /** @type {const} */ ({
    brokers: { type: 'string' },
    seed: { type: 'string' },
    help: { type: 'boolean', default: false },
  });
  let values;
  try {
    ({ values } = parseArgs({ args: [...argv], options, strict: true }));
  } catch (cause) {
    const { message } = /** @type {Error} */ (cause);
    throw new Failure(`${message.replace(/\. .*/s, '')}: npm run story -- --help lists the options.`, { exitCode: 2, cause });
  }
  const { brokers = '1', seed = String(randomInt(1, 1_000_000)) } = values;
  if (brokers !== '1' && brokers !== '3') throw new Failure(`--brokers is "${brokers}": give 1 or 3.`, { exitCode: 2 });
  if (!/^[1-9]\d{0,8}$/.test(seed)) throw new Failure(`--seed is "${seed}": give a whole number from 1 to 999999999.`, { exitCode: 2 });
  return { help: values.help, brokers: brokers === '1' ? /** @type {const} */ (1) : /** @type {const} */ (3), seed: Number(seed) };
}
