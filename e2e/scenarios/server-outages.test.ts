import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { scenarioConfig } from '../src/config.ts';
import { peakResidentMib } from '../src/machine/process-table.ts';
import { until } from '../src/machine/until.ts';
import { startPipeline } from '../src/pipeline/per-test.ts';
import { kill, type Pipeline, SERVERS, SERVICES, type ServerName } from '../src/pipeline/pipeline.ts';
import { prove, sinksMove } from '../src/proof/prove.ts';
import { report, seconds } from '../src/report.ts';
import type { PostAnswer } from '../src/traffic/post.ts';
import { Traffic } from '../src/traffic/traffic.ts';

/** Within this time after Kafka is back the gateway has to take posts again. */
const NOTICED_MS = 15_000;
const RESTART_MS = 120_000;
const MAX_RESIDENT_MIB = 1024;

interface Away {
  readonly fromMs: number;
  readonly toMs: number;
}

async function hold(pipeline: Pipeline, server: ServerName): Promise<Away> {
  const pid = pipeline.pid(server);
  const fromMs = Date.now();
  kill(pid, 'SIGSTOP');
  // Not a wait for something: this is how long the outage lasts.
  await delay(scenarioConfig.heldMs);
  memory(`${server} away for ${seconds(scenarioConfig.heldMs)}`, pipeline);
  kill(pid, 'SIGCONT');
  return { fromMs, toMs: Date.now() };
}

/** What is held back must not gather in memory: it waits in Kafka and on disk. */
function memory(what: string, pipeline: Pipeline): void {
  const peaks = SERVICES.map((name) => ({ name, mib: peakResidentMib(pipeline.pid(name)) }));
  report(`${what}: ${peaks.map(({ name, mib }) => `${name} ${mib} MiB at most`).join(', ')}`);
  for (const { name, mib } of peaks) expect(mib, `${name} stays within its memory`).toBeLessThan(MAX_RESIDENT_MIB);
}

async function killHard(pipeline: Pipeline, server: ServerName): Promise<Away> {
  const pid = pipeline.pid(server);
  const printed = pipeline.command.printed.length;
  const fromMs = Date.now();
  kill(pid, 'SIGKILL');
  await pipeline.command.prints(new RegExp(`${server} ended with signal SIGKILL; it is started again`), RESTART_MS, printed);
  await pipeline.command.prints(new RegExp(`${server} answers again`), RESTART_MS, printed);
  return { fromMs, toMs: Date.now() };
}

/** What was answered while a server was away, and for how long the gateway refused posts behind it. */
function told(what: string, { fromMs, toMs }: Away, answers: readonly PostAnswer[]): void {
  const during = answers.filter(({ sentMs, answeredMs }) => answeredMs >= fromMs && sentMs <= toMs + NOTICED_MS);
  const counts = new Map<string, number>();
  for (const { status, code } of during) counts.set(`${status ?? ''} ${code}`, (counts.get(`${status ?? ''} ${code}`) ?? 0) + 1);
  const refused = during.filter(({ status }) => status === 503).map(({ answeredMs }) => answeredMs);
  const slowest = Math.max(0, ...during.map(({ sentMs, answeredMs }) => answeredMs - sentMs));
  const last =
    refused.length === 0 ? 'no 503' : `503 from ${seconds(Math.min(...refused) - fromMs)} to ${seconds(Math.max(...refused) - fromMs)}`;
  report(
    `${what}: away ${seconds(toMs - fromMs)}, ${last}, slowest answer ${seconds(slowest)}; ${[...counts].map(([each, count]) => `${count} x ${each}`).join(', ')}`,
  );
}

const FAULTS = [
  { name: `stopped for ${seconds(scenarioConfig.heldMs)}`, make: hold },
  { name: 'killed', make: killHard },
] as const;

describe.skipIf(scenarioConfig.short)('a server that is away', () => {
  test.for(SERVERS)('%s: nothing is lost, and all goes on by itself', async (server) => {
    const pipeline = startPipeline();
    await pipeline.ready();
    const services = SERVICES.map((name) => pipeline.pid(name));
    const traffic = new Traffic({ gatewayUrl: () => pipeline.endpoints.gateway, seed: scenarioConfig.seed });
    const outages: Away[] = [];
    await sinksMove(pipeline);
    for (const { name, make } of FAULTS) {
      await traffic.accepted(2000);
      const outage = await make(pipeline, server);
      await traffic.accepted(3000);
      told(`${server} ${name}`, outage, traffic.answers);
      outages.push(outage);
    }
    await prove(server, pipeline, traffic);

    expect(
      SERVICES.map((name) => pipeline.pid(name)),
      'no service was started again',
    ).toEqual(services);
    const others = traffic.answers.filter(({ status }) => status !== 200);
    if (server !== 'kafka') {
      expect(others).toEqual([]);
      return;
    }
    // The posts that waited for the stopped Kafka until the gateway's deadline, and then those that were refused at once.
    expect(others.map(({ code }) => code)).toContain('deadline_passed');
    expect(others.map(({ code }) => code)).toContain('kafka_unavailable');
    for (const answer of others) {
      expect(answer, 'nothing but 503 with Retry-After').toMatchObject({ status: 503, retryAfter: expect.any(Number) });
      const away = outages.some(({ fromMs, toMs }) => answer.answeredMs >= fromMs && answer.answeredMs <= toMs + NOTICED_MS);
      expect(away, `503 only while Kafka is away: ${JSON.stringify(answer)}`).toBe(true);
    }
  });

  test('kafka, while the services start: all go on by themselves', async () => {
    const pipeline = startPipeline();
    await until('a process of each service', RESTART_MS, () => SERVICES.every((name) => pipeline.find(name) !== undefined));
    const services = SERVICES.map((name) => pipeline.pid(name));
    await hold(pipeline, 'kafka');
    await pipeline.ready();
    const traffic = new Traffic({ gatewayUrl: () => pipeline.endpoints.gateway, seed: scenarioConfig.seed });
    await traffic.accepted(2000);
    await prove('kafka stopped while the services start', pipeline, traffic);
    expect(
      SERVICES.map((name) => pipeline.pid(name)),
      'no service was started again',
    ).toEqual(services);
  });
});
