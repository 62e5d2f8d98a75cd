// `npm run bench [-- PART...]`: what records cost, with the peers that each bar names measured in the same run. Linux only: /proc is read.

import { Failure } from '../packages/stack/src/toolchain/failure.mjs';
import { bootstrap } from '../scripts/lib/bootstrap.mjs';
import { runScript } from '../scripts/lib/run.mjs';

const BARS = ['runtime', 'archiver', 'indexer', 'replay', 'restore'];
const PARTS = ['pipeline', ...BARS, 'beside', 'alerts'];

await runScript(async ({ env, signal, print }) => {
  const named = process.argv.slice(2);
  const unknown = named.find((part) => !PARTS.includes(part));
  if (unknown !== undefined)
    throw new Failure(`There is no bench "${unknown}": name some of ${PARTS.join(', ')}, or nothing for all.`, { exitCode: 2 });
  await bootstrap({ env, signal, print });
  const parts = named.length === 0 ? PARTS : named;
  // Only now: what it imports is built by the bootstrap.
  if (parts.includes('pipeline')) await (await import('./pipeline.mjs')).measurePipeline(signal);
  const bars = BARS.filter((part) => parts.includes(part));
  if (bars.length > 0) await (await import('./bars.mjs')).measureBars(bars, signal, print);
  if (parts.includes('beside')) await (await import('./beside.mjs')).measureBeside(signal, print);
  if (parts.includes('alerts')) await (await import('./alerts.mjs')).measureAlerts(signal, print);
  return 0;
});
