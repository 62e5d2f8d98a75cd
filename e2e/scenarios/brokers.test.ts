import { setTimeout as delay } from 'node:timers/promises';
import { connectAdmin } from '@tailrace/kafka-kit';
import { describe, expect, test } from 'vitest';
import { scenarioConfig } from '../src/config.ts';
import { run, tailrace } from '../src/pipeline/command.ts';
import { kafkaSettings, TOPIC } from '../src/pipeline/endpoints.ts';
import { startPipeline } from '../src/pipeline/per-test.ts';
import { kill, SERVICES } from '../src/pipeline/pipeline.ts';
import { prove, sinksMove } from '../src/proof/prove.ts';
import { report, seconds } from '../src/report.ts';
import { Traffic } from '../src/traffic/traffic.ts';

const LIMIT_MS = 180_000;
/** Longer than what was sent to a silent broker waits there before it is sent to the new leader (10 s). */
const HELD_MS = 25_000;
/** Behind that wait posts have to be taken as ever: of the 20 a second so many in the time that is left. */
const MEANWHILE = 100;

describe.skipIf(scenarioConfig.short)('npm start -- --brokers 3', () => {
  test('with --once brings every event to both sinks', async () => {
    const { code, stdout, stderr } = await run(process.execPath, ['scripts/start.mjs', '--brokers', '3', '--once'], { limitMs: LIMIT_MS });
    expect(stderr).toContain('topics: each record is kept three times');
    expect(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')).toEqual({
      posted: 1000,
      accepted: 1000,
      rejected: 0,
      indexed: 1000,
      archived: 1000,
      alerts: 0,
    });
    expect(code).toBe(0);
  });

  test('keeps every record three times, and goes on while a broker is killed, and while one stands still', async () => {
    const pipeline = startPipeline({ args: ['--brokers', '3', '--rate', '0'] });
    const endpoints = await pipeline.ready();
    const admin = await connectAdmin(kafkaSettings(endpoints));
    try {
      expect(await admin.readTopics([TOPIC])).toMatchObject([{ replicationFactor: 3, configs: { 'min.insync.replicas': '2' } }]);
    } finally {
      await admin.close();
    }
    expect(await tailrace(pipeline.endpointsFile, 'topics', 'plan'), 'tailrace topics plan').toMatchObject({ code: 0 });
    const services = SERVICES.map((name) => pipeline.pid(name));
    const traffic = new Traffic({ gatewayUrl: () => pipeline.endpoints.gateway, seed: scenarioConfig.seed });
    await sinksMove(pipeline);
    await traffic.accepted(1000);

    const printed = pipeline.command.printed.length;
    const killedMs = Date.now();
    kill(pipeline.pid('kafka-2'), 'SIGKILL');
    await traffic.accepted(3000);
    await pipeline.command.prints(/kafka-2 ended with signal SIGKILL; it is started again/, LIMIT_MS, printed);
    await pipeline.command.prints(/kafka-2 answers again/, LIMIT_MS, printed);
    await traffic.accepted(2000);
    const slowest = Math.max(
      ...traffic.answers.filter(({ answeredMs }) => answeredMs > killedMs).map((each) => each.answeredMs - each.sentMs),
    );
    report(`three brokers: one killed; the slowest post took ${seconds(slowest)}`);

    const held = pipeline.pid('kafka-3');
    const heldMs = Date.now();
    kill(held, 'SIGSTOP');
    // Not a wait for something: this is how long it stands still.
    await delay(HELD_MS);
    const meanwhile = traffic.answers.filter(({ answeredMs, status }) => answeredMs > heldMs && status === 200).length;
    kill(held, 'SIGCONT');
    report(`three brokers: one stopped for ${seconds(HELD_MS)}; ${meanwhile} posts were accepted meanwhile`);
    expect(meanwhile, 'posts accepted while one of three brokers stood still').toBeGreaterThan(MEANWHILE);
    await traffic.accepted(2000);
    await prove('three brokers', pipeline, traffic);
    expect(
      SERVICES.map((name) => pipeline.pid(name)),
      'no service was started again',
    ).toEqual(services);
  });
});
