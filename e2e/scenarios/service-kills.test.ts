import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scenarioConfig } from '../src/config.ts';
import { startPipeline } from '../src/pipeline/per-test.ts';
import { kill, SERVICES } from '../src/pipeline/pipeline.ts';
import { prove } from '../src/proof/prove.ts';
import { report, seconds } from '../src/report.ts';
import { Traffic } from '../src/traffic/traffic.ts';

const RESTART_MS = 60_000;

test('services that are killed again and again lose nothing and write nothing twice', async () => {
  const { seed, short } = scenarioConfig;
  report(`service kills: seed ${seed} (E2E_SEED=${seed} repeats it)`);
  const rounds = short ? SERVICES : [...SERVICES, ...SERVICES];
  const order = fc.shuffledSubarray([...rounds.keys()], { minLength: rounds.length });
  const pauses = fc.array(fc.integer({ min: 200, max: short ? 1000 : 3000 }), { minLength: rounds.length, maxLength: rounds.length });
  const [plan] = fc.sample(fc.record({ order, pauses }), { seed, numRuns: 1 });

  const pipeline = startPipeline();
  await pipeline.ready();
  const traffic = new Traffic({ gatewayUrl: () => pipeline.endpoints.gateway, seed });
  await traffic.accepted(1000);
  for (const [turn, place] of (plan?.order ?? []).entries()) {
    const name = rounds[place] ?? 'indexer';
    const printed = pipeline.command.printed.length;
    // A service that is still down from its last kill is killed once it is back.
    const pid = await pipeline.restarted(name, 0, RESTART_MS);
    kill(pid, 'SIGKILL');
    const killedMs = Date.now();
    await pipeline.command.prints(new RegExp(`${name} ended with SIGKILL; it is started again`), RESTART_MS, printed);
    await pipeline.restarted(name, pid, RESTART_MS);
    // How far the new one has come when the next one is hit is left to chance.
    await traffic.accepted(plan?.pauses[turn] ?? 1000);
    report(`service kills: ${name} killed; ${seconds(Date.now() - killedMs)} until ${plan?.pauses[turn]} more events were accepted`);
  }
  await traffic.accepted(1000);
  await prove('service kills', pipeline, traffic);
  expect(pipeline.command.running).toBe(true);
});
