// Starts the whole pipeline, posts as fast as it answers, and prints what an event costs each process: CPU time of all
// its threads, as the kernel counts it, over three rounds. Linux only: CPU time is read from /proc.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ROUNDS = 3;
const POSTS_AT_ONCE = 16;
const EVENTS_PER_POST = 100;
const POSTS_PER_ROUND = 2000;
const SERVICES = ['ingest-gateway', 'indexer', 'archiver', 'alert-processor'];
/** The kernel's clock ticks a second, as /proc counts them on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** @param {AbortSignal} signal */
export async function measurePipeline(signal) {
  const folder = mkdtempSync(join(tmpdir(), 'tailrace-bench-'));
  const endpointsFile = join(folder, 'endpoints.json');
  const starter = spawn(process.execPath, ['scripts/start.mjs', '--rate', '0', '--endpoints', endpointsFile], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'ignore'],
    // Records are counted against what was posted.
    env: { ...process.env, ALERT_CANARY_URL: '' },
  });
  const ended = new Promise((resolve) => starter.once('exit', resolve));
  signal.addEventListener('abort', () => starter.kill('SIGINT'), { once: true });
  try {
    while (!existsSync(endpointsFile)) {
      if (starter.exitCode !== null) throw new Error('npm start ended before it was ready: run it by itself to see why.');
      await sleep(100, undefined, { signal });
    }
    await measure(JSON.parse(readFileSync(endpointsFile, 'utf8')), signal);
  } finally {
    starter.kill('SIGINT');
    await ended;
    rmSync(folder, { recursive: true });
  }
}

async function measure(endpoints, signal) {
  const pids = Object.fromEntries(SERVICES.map((name) => [name, endpoints.processes.find((process) => process.name === name).pid]));
  const agent = new Agent({ keepAlive: true, maxSockets: POSTS_AT_ONCE });
  const bodies = await sampleBodies(50);
  const bytes = Math.round(bodies.reduce((sum, body) => sum + body.length, 0) / bodies.length / EVENTS_PER_POST);
  process.stdout.write(
    `${EVENTS_PER_POST} events a post of ${bytes} bytes each, ${POSTS_AT_ONCE} posts at once, ${ROUNDS} rounds of ${POSTS_PER_ROUND * EVENTS_PER_POST} events\n`,
  );
  await postRound(endpoints.gateway, agent, bodies, 200); // Code is compiled and connections are open before anything is measured.
  let expected = 200 * EVENTS_PER_POST;
  await settled(endpoints, expected, signal);
  const rows = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = cpu(pids);
    const startedMs = performance.now();
    const latencies = await postRound(endpoints.gateway, agent, bodies, POSTS_PER_ROUND);
    const seconds = (performance.now() - startedMs) / 1000;
    const events = POSTS_PER_ROUND * EVENTS_PER_POST;
    expected += events;
    await settled(endpoints, expected, signal);
    const after = cpu(pids);
    const usPerEvent = (name) => ((after[name] - before[name]) / events) * 1e6;
    latencies.sort((a, b) => a - b);
    rows.push({
      eventsPerSecond: events / seconds,
      p99Ms: latencies[Math.floor(latencies.length * 0.99)],
      us: Object.fromEntries(SERVICES.map((name) => [name, usPerEvent(name)])),
    });
  }
  const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
  process.stdout.write(
    `posted          ${Math.round(median(rows.map((row) => row.eventsPerSecond)))} events/s (median), p99 ${median(rows.map((row) => row.p99Ms)).toFixed(0)} ms a post\n`,
  );
  for (const name of SERVICES) {
    const all = rows.map((row) => row.us[name]);
    process.stdout.write(
      `${name.padEnd(15)} ${median(all).toFixed(1)} us of CPU an event (median; ${all.map((us) => us.toFixed(1)).join(', ')})\n`,
    );
  }
  agent.destroy();
}

async function sampleBodies(count) {
  const { generateEvents } = await import('../packages/events/dist/index.js');
  const events = generateEvents({ seed: 1, nowMs: Date.now });
  return Array.from({ length: count }, () =>
    Buffer.from(Array.from({ length: EVENTS_PER_POST }, () => JSON.stringify(events.next().value)).join('\n')),
  );
}

/** Posts so many bodies; resolves with the milliseconds that each took. Anything but 200 ends the bench. */
async function postRound(gateway, agent, bodies, posts) {
  const latencies = [];
  let next = 0;
  const poster = async () => {
    while (next < posts) {
      const body = bodies[next % bodies.length];
      next += 1;
      const startedMs = performance.now();
      const status = await post(`${gateway}/v1/events`, agent, body);
      if (status !== 200) throw new Error(`the gateway answered ${status}`);
      latencies.push(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: POSTS_AT_ONCE }, poster));
  return latencies;
}

function post(url, agent, body) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/x-ndjson' } }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

/** Waits until both groups have settled everything: then the work of a round is done, and its CPU time is all there. */
async function settled({ environment }, expected, signal) {
  const { connectAdmin } = await import('../packages/kafka-kit/dist/index.js');
  const admin = await connectAdmin({
    bootstrapServers: environment.KAFKA_BOOTSTRAP_SERVERS,
    clientId: 'tailrace-bench',
    securityProtocol: 'plaintext',
  });
  try {
    for (const group of ['indexer', 'archiver']) {
      for (;;) {
        const partitions = await admin.groupLag(group, ['service-events']);
        const committed = partitions.reduce((sum, partition) => sum + (partition.committed ?? 0), 0);
        if (committed >= expected) break;
        await sleep(200, undefined, { signal });
      }
    }
  } finally {
    await admin.close();
  }
}

/** CPU seconds of each process, all threads, since it began. */
function cpu(pids) {
  return Object.fromEntries(
    Object.entries(pids).map(([name, pid]) => {
      // The command may hold blanks and brackets: fields are counted behind the last bracket.
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
      return [name, (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND];
    }),
  );
}
