// Alerts under load: gateway, broker, alert processor and poster on this machine, at the highest of some rates that is held. How long from the broker's time
// of the event that makes an alert to its webhook, what an event costs against a bare loop that consumes and parses, memory, and how long a restart takes.
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Cluster } from '../e2e/dist/src/cluster/cluster.js';
import { AlertReceiver } from '../e2e/dist/src/incidents/receiver.js';
import { until } from '../e2e/dist/src/machine/until.js';
import { environmentOf } from '../packages/stack/dist/index.js';
import { RULES } from './lib/alert-rules.mjs';
import { barLine, median, ROUNDS } from './lib/compare.mjs';

const RATES = [25_000, 20_000, 15_000, 10_000, 5000];
const TRIAL_MS = 20_000;
const ROUND_MS = 40_000;
/** As much of the log as a restart reads: a pane and the lateness. */
const REWIND_MS = 70_000;
const RESTARTS = 3;
/** What a restart reads again grows with the rate, and what the machine has left to catch up with shrinks: where the rate fills it, that is nothing. */
const RESTART_RATES = [10_000, 5000, 2000];
const WARM_MS = 300_000;
const PARTITIONS = 12;
const LATENESS_MS = 60_000;
const HELD_SHARE = 0.97;
const HELD_LAG_SECONDS = 2;
const TICKS_PER_SECOND = 100;
const HERE = fileURLToPath(new URL('.', import.meta.url));

/** @param {AbortSignal} signal @param {(line: string) => void} print */
export async function measureAlerts(signal, print) {
  const cluster = await Cluster.start({ brokers: 1, jit: 'throughput', signal, report: print });
  const receiver = await AlertReceiver.start();
  const say = (line) => process.stdout.write(`${line}\n`);
  try {
    const folder = join(cluster.stack.folder, 'bench');
    mkdirSync(folder);
    writeFileSync(join(folder, 'rules.yaml'), RULES);
    writeFileSync(join(folder, 'notifiers.yaml'), receiver.notifiersText);
    const files = { ALERT_RULES: join(folder, 'rules.yaml'), ALERT_NOTIFIERS: join(folder, 'notifiers.yaml') };
    // As `npm start` starts it.
    const settings = { ...files, MALLOC_ARENA_MAX: '2', KAFKA_GROUP_INSTANCE_ID: 'bench' };
    const gateway = cluster.join('ingest-gateway');
    await gateway.ready();
    const bench = { cluster, receiver, settings, gateway, signal, print };
    const { rate, processor, ...begun } = await highestRate(bench);
    let { poster } = begun;
    say(`alerts\n  ${rate} events/s with 20 rules held on this machine`);
    const rounds = [];
    let running = processor;
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push({ ours: await oneRound(bench, running), bareUs: await bareRound(bench, running) });
      // What the bare loop was alone with is behind the processor now, and is no part of the next round.
      await poster.end();
      running = cluster.join('alert-processor', settings);
      await warm(running);
      poster = new Poster(gateway.gatewayUrl, rate);
    }
    const us = rounds.map(({ ours }) => ours.us);
    const bare = rounds.map(({ bareUs }) => bareUs);
    say(`  alert processor ${line(us)} us of CPU an event, a bare loop that parses ${line(bare)}`);
    say(
      `  from broker time to webhook, ms: ${rounds.map(({ ours }) => `p50 ${ours.p50Ms}, p99 ${ours.p99Ms} of ${ours.alerts} alerts`).join('; ')}`,
    );
    say(barLine('p99 from broker time to webhook in ms', median(rounds.map(({ ours }) => ours.p99Ms)), 2000, 0));
    say(barLine('CPU against the bare loop that parses', median(us) / median(bare), 2.5));
    say(barLine('resident MiB', Math.max(...rounds.map(({ ours }) => ours.residentMb)), 400, 0));
    for (const calmer of RESTART_RATES) {
      await poster.end();
      poster = new Poster(gateway.gatewayUrl, calmer);
      await sleep(REWIND_MS, undefined, { signal });
      running = await restarts(bench, running, calmer);
    }
    await poster.end();
  } finally {
    await receiver.close();
    await cluster.stop();
  }
}

const line = (figures) => `${median(figures).toFixed(2)} (${figures.map((us) => us.toFixed(2)).join(', ')})`;

/** The highest rate that gateway, broker and processor keep up with together. */
async function highestRate(bench) {
  const { cluster, settings, gateway, print } = bench;
  const processor = cluster.join('alert-processor', settings);
  await warm(processor);
  for (const rate of RATES) {
    const poster = new Poster(gateway.gatewayUrl, rate);
    await sleep(TRIAL_MS, undefined, { signal: bench.signal });
    const lag = await processor.lagSeconds('alert-processor');
    const trial = await poster.end();
    const perSecond = trial.accepted / trial.seconds;
    if (perSecond >= rate * HELD_SHARE && lag <= HELD_LAG_SECONDS) return { rate, processor, poster: new Poster(gateway.gatewayUrl, rate) };
    print(`${rate} events/s are not held: ${Math.round(perSecond)}/s were accepted, and the processor was ${lag.toFixed(1)} s behind`);
    await until('the processor at the end', WARM_MS, async () => (await processor.lagSeconds('alert-processor')) < 1);
  }
  throw new Error(`not even ${RATES.at(-1)} events/s are held`);
}

async function oneRound({ receiver, signal, gateway }, processor) {
  receiver.told.clear();
  const before = { cpu: cpuSeconds(processor.pid), accepted: await accepted(gateway) };
  await sleep(ROUND_MS, undefined, { signal });
  const events = (await accepted(gateway)) - before.accepted;
  const us = ((cpuSeconds(processor.pid) - before.cpu) / events) * 1e6;
  const delays = [...receiver.told.values()]
    .filter(({ rule, status }) => rule === 'burst' && status === 'firing')
    .map(({ cameMs, brokerMs }) => cameMs - brokerMs)
    .sort((a, b) => a - b);
  const at = (share) => delays[Math.min(delays.length - 1, Math.floor(delays.length * share))];
  return { us, alerts: delays.length, p50Ms: at(0.5), p99Ms: at(0.99), residentMb: peakMb(processor.pid) };
}

/** The bare loop on the same records at the same pace, with the processor out of its way. */
async function bareRound({ cluster, signal }, processor) {
  await processor.kill();
  const task = { topic: 'service-events', partitions: PARTITIONS, seconds: ROUND_MS / 1000, environment: environmentOf(cluster.endpoints) };
  const { cpuUs } = await new Promise((resolve, reject) => {
    execFile(process.execPath, [join(HERE, 'subjects/bare-parse-live.mjs'), JSON.stringify(task)], { signal }, (fault, out) =>
      fault ? reject(fault) : resolve(JSON.parse(out)),
    );
  });
  return cpuUs;
}

/** How long it takes from the end of a process, by kill -9 and by SIGTERM, until the next one has all that it needs to decide about every partition. */
async function restarts({ cluster, settings }, processor, rate) {
  let running = processor;
  for (const [way, end] of [
    ['kill -9', (member) => member.kill()],
    ['SIGTERM', (member) => member.leave()],
  ]) {
    const took = [];
    for (let i = 0; i < RESTARTS; i++) {
      await end(running);
      const endedMs = performance.now();
      running = cluster.join('alert-processor', settings);
      await warm(running);
      took.push({ seconds: (performance.now() - endedMs) / 1000, reading: await running.figure('tailrace_alert_warm_up_seconds') });
    }
    const told = took.map(({ seconds, reading }) => `${seconds.toFixed(1)} (${reading.toFixed(1)} of it reading)`);
    process.stdout.write(`  restarts at ${rate} events/s, from ${way} to warm, s: ${told.join(', ')}\n`);
    process.stdout.write(
      `${barLine(`slowest restart by ${way} at ${rate} events/s in seconds`, Math.max(...took.map(({ seconds }) => seconds)), 10, 1)}\n`,
    );
  }
  return running;
}

/** Waits until every partition is decided up to where it can be: to the lateness, the second by which a window may lag, and a second to look. */
async function warm(member) {
  await member.up();
  await until('the alert processor warm', WARM_MS, async () => (await member.figure('tailrace_alert_warm_up_seconds')) !== undefined);
  await until('every partition of the alerts decided', WARM_MS, async () => {
    const { decided } = await member.alertsUpTo();
    return decided.length === PARTITIONS && decided.every((ms) => ms >= Date.now() - LATENESS_MS - 2000);
  });
}

async function accepted(gateway) {
  return gateway.figure('tailrace_gateway_events_total{outcome="accepted"}');
}

/** Posts until it is ended. */
class Poster {
  #child;
  #told;

  constructor(gatewayUrl, rate) {
    this.#child = spawn(process.execPath, [join(HERE, 'lib/post-live.mjs'), gatewayUrl, String(rate)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let out = '';
    this.#child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    this.#told = new Promise((resolve, reject) =>
      this.#child.once('exit', (code) => (code === 0 ? resolve(JSON.parse(out)) : reject(new Error(`the poster ended with ${code}`)))),
    );
    this.#told.catch(() => {}); // Whoever ends it is told.
  }

  end() {
    this.#child.stdin.end();
    return this.#told;
  }
}

function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function peakMb(pid) {
  return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmHWM:\s+(\d+) kB$/m)?.[1]) / 1024;
}
