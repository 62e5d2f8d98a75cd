// `npm run incidents`: makes the clone ready, then lets incidents of known start and end happen, and holds what alerts tell against them.
import { Failure } from '../packages/stack/src/toolchain/failure.mjs';
import { bootstrap } from './lib/bootstrap.mjs';
import { COMMON_OPTIONS, readArguments, seedOf, tellOutcome } from './lib/proof.mjs';
import { runScript } from './lib/run.mjs';

const LONG = { minutes: 30, ofEachKind: 2, ways: ['calm', 'calm', 'kills', 'apart', 'rebalances', 'broker', 'replay'] };
const SHORT = { minutes: 12, ofEachKind: 1, ways: ['kills'] };
const KNOWN = ['live', 'calm', 'kills', 'apart', 'rebalances', 'broker', 'replay'];

const HELP = `Usage: npm run incidents -- [--short] [--live] [--seed N] [WAY...]
Services whose traffic goes wrong in known ways at known times. Every incident has to be told once, in time, with its end, and nothing else; and every way
in which the same traffic comes has to tell the same.
  --short   ${SHORT.minutes} minutes of traffic with processes that are killed, instead of ${LONG.minutes} minutes in every way
  --live    in real time, through the gateway: takes as long as the traffic
  --seed N  repeats a run's traffic
  WAY       some of ${KNOWN.join(', ')}

Exit codes: 0 each incident was told once; 1 one was not, or the run failed; 2 wrong use.
`;

await runScript(async (context) => {
  const { help, ...asked } = parse(process.argv.slice(2));
  if (help) {
    process.stdout.write(HELP);
    return 0;
  }
  await bootstrap(context);
  const { incidents } = await import('../e2e/dist/src/incidents/incidents.js');
  const report = (/** @type {string} */ line) => context.print(`incidents: ${line}`);
  return tellOutcome(await incidents({ ...asked, signal: context.signal, report }), 'Each incident was told once, and nothing else.');
});

/**
 * @param {readonly string[]} argv
 * @throws Failure with exit code 2
 */
function parse(argv) {
  const named = argv.filter((arg) => KNOWN.includes(arg));
  const options = { ...COMMON_OPTIONS, live: /** @type {const} */ ({ type: 'boolean', default: false }) };
  const left = argv.filter((arg) => !KNOWN.includes(arg));
  const values = readArguments('npm run incidents', left, options);
  if (values.live && named.length > 0) throw new Failure('--live is a way by itself: give it alone.', { exitCode: 2 });
  const usual = values.short ? SHORT : LONG;
  return {
    help: values.help,
    minutes: usual.minutes,
    ofEachKind: usual.ofEachKind,
    ways: /** @type {import('../e2e/dist/src/incidents/incidents.js').Way[]} */ (
      values.live ? ['live'] : named.length > 0 ? named : usual.ways
    ),
    seed: seedOf(values.seed),
  };
}
