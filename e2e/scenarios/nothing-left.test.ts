import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { scenarioConfig } from '../src/config.ts';
import { until } from '../src/machine/until.ts';
import { startPipeline } from '../src/pipeline/per-test.ts';
import { kill, type Launch, type Pipeline, SERVERS, SERVICES } from '../src/pipeline/pipeline.ts';
import { report, seconds } from '../src/report.ts';
import { Traffic } from '../src/traffic/traffic.ts';

/** After the end of the starter nothing may be left when so much time has passed. */
const LEFT_MS = 10_000;
const PHASE_MS = 120_000;

/** The phases of a start, each by the first thing that shows it. */
const PHASES: readonly { readonly name: string; readonly reached: (pipeline: Pipeline) => Promise<unknown> }[] = [
  { name: 'while it makes itself ready', reached: (pipeline) => until('the compiler', PHASE_MS, () => preparing(pipeline)) },
  {
    name: 'before a server answers',
    reached: (pipeline) => until('Kafka’s process', PHASE_MS, () => pipeline.find('kafka') !== undefined),
  },
  { name: 'after Kafka answers', reached: (pipeline) => pipeline.command.prints(/kafka answers after/, PHASE_MS) },
  {
    name: 'while services start',
    reached: (pipeline) => until('the archiver’s process', PHASE_MS, () => pipeline.find('archiver') !== undefined),
  },
  { name: 'while running', reached: withTraffic },
];

/** The compiler runs in each start. Where a look missed it, Kafka's process shows that this phase is over. */
function preparing(pipeline: Pipeline): boolean {
  return pipeline.processes().some(({ command }) => command.some((word) => word.endsWith('/tsc'))) || pipeline.find('kafka') !== undefined;
}

/** Running means that every part has something in its hands. */
async function withTraffic(pipeline: Pipeline): Promise<void> {
  await pipeline.ready();
  const traffic = new Traffic({ gatewayUrl: () => pipeline.endpoints.gateway, seed: scenarioConfig.seed });
  await traffic.accepted(2000);
  // Or "nothing is left" would say nothing.
  for (const name of [...SERVICES, ...SERVERS]) expect(pipeline.find(name), name).toBeDefined();
  expect(pipeline.ports().length).toBeGreaterThanOrEqual(SERVICES.length + SERVERS.length);
  expect(pipeline.remains([])).toContainEqual(expect.stringMatching(/^temporary tailrace-/));
  // What is still in flight when the gateway goes is of no interest here.
  void traffic.stop(0);
}

async function nothingLeft(what: string, pipeline: Pipeline, ports: readonly number[], fromMs: number): Promise<void> {
  // What does not go away is named below.
  const goneMs = await until('nothing left', PHASE_MS, () => {
    return pipeline.remains(ports).length === 0 ? Date.now() - fromMs : undefined;
  }).catch(() => undefined);
  report(`${what}: ${goneMs === undefined ? `left: ${pipeline.remains(ports).join('; ')}` : `nothing is left after ${seconds(goneMs)}`}`);
  expect(pipeline.remains(ports)).toEqual([]);
  expect(goneMs, 'milliseconds until nothing was left').toBeLessThanOrEqual(LEFT_MS);
}

describe('kill -9', () => {
  const launches: readonly Launch[] = ['node', 'npm'];
  const cases = launches.flatMap((launch) => PHASES.map((phase) => ({ launch, phase, name: `${launch}, ${phase.name}` })));
  const chosen = scenarioConfig.short ? cases.filter(({ name }) => name === 'node, while running') : cases;

  test.for(chosen)('of $name leaves nothing', async ({ launch, phase, name }) => {
    const pipeline = startPipeline({ launch });
    await phase.reached(pipeline);
    const ports = pipeline.ports();
    const killedMs = Date.now();
    // With npm the starter is npm's grandchild: only npm itself is killed.
    kill(pipeline.command.pid, 'SIGKILL');
    await nothingLeft(`kill -9 of ${name}`, pipeline, ports, killedMs);
  });
});

test.skipIf(scenarioConfig.short)(
  'a signal without a terminal tells totals of that moment, and every address was told once it was known',
  async () => {
    const pipeline = startPipeline();
    const { gateway } = await pipeline.ready();
    await pipeline.command.prints(/^indexer: http/m, LEFT_MS);
    // A line is told every five seconds: what is accepted right behind one is not in it.
    await pipeline.command.prints(/accepted 0, [^\n]+\n/, LEFT_MS, pipeline.command.printed.length);
    const event = { timestamp: new Date().toISOString(), service: 's' };
    expect((await fetch(`${gateway}/v1/events`, { method: 'POST', body: JSON.stringify(event) })).status).toBe(200);
    kill(pipeline.command.pid, 'SIGTERM');
    expect((await pipeline.command.ends(LEFT_MS)).code).toBe(130);
    expect(pipeline.command.printed).toMatch(/\nran \d+ s; last seen: accepted 1, indexed [01], archived [01]\nstopping\n$/);
    expect(pipeline.command.printed).not.toContain('undefined');
  },
);

describe.skipIf(scenarioConfig.short)('Ctrl-C', () => {
  test.for(PHASES)('$name leaves nothing', async ({ name, reached }) => {
    const pipeline = startPipeline({ launch: 'npm in a terminal' });
    await reached(pipeline);
    const ports = pipeline.ports();
    const pressedMs = Date.now();
    press(pipeline);
    await nothingLeft(`Ctrl-C ${name}`, pipeline, ports, pressedMs);
    expect((await pipeline.command.ends(LEFT_MS)).code).toBe(130);
    expect(pipeline.command.printed).not.toMatch(/^\s+at /m);
  });

  test('in a terminal leaves the last totals, no torn line, and no endpoints file', async () => {
    const pipeline = startPipeline({ launch: 'npm in a terminal' });
    await withTraffic(pipeline);
    await pipeline.command.prints(/health +http/, LEFT_MS);
    press(pipeline);
    await pipeline.command.ends(LEFT_MS);
    expect(pipeline.command.printed).toMatch(
      /\^Cran \d+ s; last seen: accepted [\d,]+, indexed [\d,]+, archived [\d,]+\nstopping\n(?!tailrace)/,
    );
    // The terminal shows ^C where the cursor stands: the first column is taken before the rows above are cleared.
    expect(pipeline.command.stdout).toMatch(/\^C\r.\[\d+A.\[Jran /);
    expect(existsSync(pipeline.endpointsFile)).toBe(false);
  });

  test('again while it stops leaves nothing', async () => {
    const pipeline = startPipeline({ launch: 'npm in a terminal' });
    await withTraffic(pipeline);
    const ports = pipeline.ports();
    press(pipeline);
    await pipeline.command.prints(/stopping/, LEFT_MS);
    const pressedMs = Date.now();
    press(pipeline);
    await nothingLeft('Ctrl-C again while it stops', pipeline, ports, pressedMs);
  });
});

/** Types Ctrl-C into the terminal: the kernel sends SIGINT to every process of its foreground group. */
function press(pipeline: Pipeline): void {
  pipeline.command.child.stdin?.write('\u0003');
}
