import { parseArgs } from 'node:util';
import { ProtocolWorld } from './protocol-world.ts';

// The long form of protocol.test.ts: npx tsx --conditions=tailrace-src src/testing/simulate-protocol.ts --runs 100000 --from 0
const { values } = parseArgs({ options: { runs: { type: 'string', default: '100000' }, from: { type: 'string', default: '0' } } });
const from = Number(values.from);
const runs = Number(values.runs);
const happened = new Map<string, number>();
const TOLD_EVERY = 10_000;

for (let seed = from; seed < from + runs; seed++) {
  const run = await ProtocolWorld.run(seed);
  for (const [what, count] of run.happened) happened.set(what, (happened.get(what) ?? 0) + count);
  if (run.problems.length > 0) {
    process.stdout.write(`seed ${seed}:\n${run.problems.join('\n')}\n`);
    process.exitCode = 1;
  }
  if ((seed + 1 - from) % TOLD_EVERY === 0) process.stderr.write(`${seed + 1 - from} of ${runs} runs\n`);
}
process.stdout.write(`${runs} runs from seed ${from} on: ${JSON.stringify(Object.fromEntries(happened))}\n`);
