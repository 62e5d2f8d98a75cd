// A replay of many records beside live traffic: how late the live groups become meanwhile. Each figure is a service's own, as it tells it to Prometheus.
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from '../e2e/dist/src/cluster/cluster.js';
import { until } from '../e2e/dist/src/machine/until.js';
import { kafkaSettings, TOPIC } from '../e2e/dist/src/pipeline/endpoints.js';
import { Feed } from '../e2e/dist/src/torture/feed.js';
import { groupNamed } from '../packages/events/dist/index.js';
import { barLine } from './lib/compare.mjs';

const RECORDS = 500_000;
const PER_SECOND = 2000;
const SEED = 7;
const CATCH_UP_MS = 600_000;
const CALM_MS = 10_000;
const LOOK_MS = 250;
/** The indexer's bar in seconds, by the issue of a replay that nobody else feels. */
const INDEXER_BAR_SECONDS = 2;

/** @param {AbortSignal} signal @param {(line: string) => void} print */
export async function measureBeside(signal, print) {
  const cluster = await Cluster.start({ brokers: 1, jit: 'throughput', signal, report: print });
  try {
    const members = { indexer: cluster.join('indexer'), archiver: cluster.join('archiver') };
    await Promise.all(Object.keys(members).map((group) => cluster.settled(group)));
    const fromMs = Date.now();
    const feed = await Feed.start(kafkaSettings(cluster.endpoints), SEED);
    print(`writing ${RECORDS} records`);
    feed.allow(RECORDS);
    await until('all of them written', CATCH_UP_MS, () => feed.acknowledged === RECORDS);
    const toMs = Date.now();
    await caughtUp(cluster);
    const pause = feed.steadily(PER_SECOND);
    await sleep(CALM_MS, undefined, { signal });
    const calm = await watch(members, sleep(CALM_MS, undefined, { signal }));
    const window = ['--from', new Date(fromMs).toISOString(), '--to', new Date(toMs).toISOString()];
    const planned = await cluster.tailrace('replay', 'plan', ...window, '--into', 'indexer', '--json');
    if (planned.code !== 0) throw new Error(planned.stderr);
    print('replaying them, unthrottled');
    const startedMs = performance.now();
    const replay = cluster.replayer('run', String(JSON.parse(planned.stdout).id), '--json');
    const lags = await watch(members, replay.ends(CATCH_UP_MS));
    const seconds = (performance.now() - startedMs) / 1000;
    const { code } = await replay.ends(0);
    pause();
    await feed.stop();
    if (code !== 0) throw new Error(`the replay ended with ${code}: ${replay.stderr}`);
    const paused = replay.stderr.split('\n').filter((line) => line.includes('late')).length;
    process.stdout.write(
      `beside\n  ${RECORDS} records replayed in ${seconds.toFixed(0)} s (${Math.round(RECORDS / seconds)}/s) beside ${PER_SECOND}/s of live traffic; it paused itself ${paused} times\n`,
    );
    process.stdout.write(`  live lag before, at most: indexer ${calm.indexer.toFixed(1)} s, archiver ${calm.archiver.toFixed(1)} s\n`);
    process.stdout.write(`${barLine('live lag of the indexer in seconds, at most', lags.indexer, INDEXER_BAR_SECONDS)}\n`);
    process.stdout.write(
      `${barLine('live lag of the archiver in seconds, at most', lags.archiver, groupNamed('archiver').allowedDelayMs / 1000)}\n`,
    );
  } finally {
    await cluster.stop();
  }
}

async function caughtUp({ admin }) {
  await until('both groups at the ends', CATCH_UP_MS, async () => {
    for (const group of ['indexer', 'archiver']) {
      const lag = (await admin.groupLag(group, [TOPIC])).reduce((sum, each) => sum + each.lag, 0);
      if (lag > 0) throw new Error(`${group} is ${lag} behind`);
    }
    return true;
  });
}

/** The greatest live lag of each group until something is over. */
async function watch(members, over) {
  const lags = Object.fromEntries(Object.keys(members).map((group) => [group, 0]));
  let isOver = false;
  const ended = over.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    for (const [group, member] of Object.entries(members)) lags[group] = Math.max(lags[group], await member.lagSeconds(group));
    await sleep(LOOK_MS);
  }
  await ended;
  return lags;
}
