// The bars of runtime, archiver and indexer, each with its peers measured in the same run.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentOf, startStack } from '../packages/stack/dist/index.js';
import { barLine, figureLine, inTurn, measure, medianOf, subjectLine } from './lib/compare.mjs';
import { emptyTopic, fillTopic, makeTopic, PARTITIONS } from './lib/fill.mjs';

const RECORDS = 300_000;
const MIXED_RECORDS = 120_000;

/** What each part measures. `bars` turns the figures into lines. */
export const PARTS = {
  runtime: {
    subjects: ['bare-loop', 'runtime'],
    bars: ({ 'bare-loop': bare, runtime }) => [
      barLine('CPU against the bare loop', medianOf(runtime, 'cpuUs') / medianOf(bare, 'cpuUs'), 1.25),
      barLine('resident MiB', medianOf(runtime, 'residentMb'), 250, 0),
    ],
  },
  archiver: {
    subjects: ['bare-parquet', 'archiver'],
    bars: ({ 'bare-parquet': bare, archiver }) => [
      barLine('CPU against a bare loop with the bare writer', medianOf(archiver, 'cpuUs') / medianOf(bare, 'cpuUs'), 1.3),
      barLine('longest stall of the event loop in ms', medianOf(archiver, 'stallMs'), 100, 0),
      barLine('resident MiB', medianOf(archiver, 'residentMb'), 750, 0),
      barLine('bytes an event in the lake', medianOf(archiver, 'bytesPerEvent'), 50, 1),
    ],
  },
  indexer: {
    subjects: ['bare-loop', 'bare-bulk', 'indexer', 'bulk-helper'],
    bars: ({ 'bare-loop': loop, 'bare-bulk': bare, indexer, 'bulk-helper': helper }) => [
      barLine('CPU against a bare loop, JSON.parse and a ready bulk', medianOf(indexer, 'cpuUs') / medianOf(bare, 'cpuUs'), 1.3),
      barLine('CPU against the client’s bulk helper', medianOf(indexer, 'cpuUs') / medianOf(helper, 'cpuUs'), 1 / 3),
      figureLine('the same without the bare loop in either', beyond(indexer, loop) / beyond(helper, loop)),
    ],
  },
  replay: {
    subjects: ['bare-copy', 'bare-side-copy', 'replay-kafka', 'replay-lake'],
    bars: ({ 'bare-copy': bare, 'bare-side-copy': side, 'replay-kafka': kafka, 'replay-lake': lake }) => [
      barLine('CPU from Kafka against a bare loop that consumes and produces', medianOf(kafka, 'cpuUs') / medianOf(bare, 'cpuUs'), 1.3),
      barLine('CPU from the lake against that loop', medianOf(lake, 'cpuUs') / medianOf(bare, 'cpuUs'), 2),
      figureLine(
        'from Kafka against the loop that writes a side channel’s headers, too',
        medianOf(kafka, 'cpuUs') / medianOf(side, 'cpuUs'),
      ),
      figureLine('from the lake against that one', medianOf(lake, 'cpuUs') / medianOf(side, 'cpuUs')),
    ],
  },
  restore: {
    subjects: ['runtime', 'restore'],
    bars: ({ runtime, restore }) => [
      barLine('CPU from the lake against reading from Kafka', medianOf(restore, 'cpuUs') / medianOf(runtime, 'cpuUs'), 2),
    ],
  },
};

/** Those that need the records in the lake as well. */
const NEED_LAKE = ['replay', 'restore'];
const LAKE_PREFIX = 'bench-lake';

/** CPU behind what reading alone takes. */
const beyond = (subject, loop) => medianOf(subject, 'cpuUs') - medianOf(loop, 'cpuUs');

/** @param {readonly string[]} parts @param {AbortSignal} signal @param {(line: string) => void} print */
export async function measureBars(parts, signal, print) {
  const stack = await startStack({ jit: 'throughput', signal });
  const folder = mkdtempSync(join(tmpdir(), 'tailrace-bench-'));
  const say = (line) => process.stdout.write(`${line}\n`);
  try {
    const environment = environmentOf(stack.endpoints);
    const task = { partitions: PARTITIONS, environment, folder };
    print(`filling a topic with ${RECORDS} records`);
    const bytes = await fillTopic(environment.KAFKA_BOOTSTRAP_SERVERS, { topic: 'bench', records: RECORDS, kind: 'generated' });
    say(`${RECORDS} generated events of ${Math.round(bytes)} bytes in ${PARTITIONS} partitions, three interleaved rounds, medians`);
    const lake = parts.some((part) => NEED_LAKE.includes(part)) ? await fillLake(task, signal, print) : {};
    for (const part of parts) {
      const { subjects, bars } = PARTS[part];
      const found = await inTurn(subjects, { ...task, ...lake, topic: 'bench', records: RECORDS }, signal);
      say(part);
      for (const subject of subjects) say(subjectLine(subject, found[subject], RECORDS));
      for (const line of bars(found)) say(line);
      if (part === 'archiver') say(await mixedOrders(task, signal));
    }
  } finally {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same records once more, archived, in a topic that keeps them and in one of which Kafka then holds nothing any more; and topics for copies. */
async function fillLake(task, signal, print) {
  const servers = task.environment.KAFKA_BOOTSTRAP_SERVERS;
  print(`archiving ${RECORDS} records, twice`);
  for (const topic of ['bench-kept', 'bench-gone']) {
    await fillTopic(servers, { topic, records: RECORDS, kind: 'generated' });
    await measure('archiver', { ...task, topic, records: RECORDS, group: LAKE_PREFIX, folder: join(task.folder, topic) }, signal);
  }
  await emptyTopic(servers, 'bench-gone');
  for (const topic of ['bench-copy', 'bench-kept.bench.replay', 'bench-positions']) await makeTopic(servers, topic);
  return { archivedTopic: 'bench-kept', goneTopic: 'bench-gone', copyTo: 'bench-copy', lakePrefix: LAKE_PREFIX };
}

async function mixedOrders(task, signal) {
  const fill = { topic: 'bench-mixed', records: MIXED_RECORDS, kind: 'three-orders' };
  await fillTopic(task.environment.KAFKA_BOOTSTRAP_SERVERS, fill);
  const { archiver } = await inTurn(['archiver'], { ...task, ...fill }, signal);
  return barLine('bytes an event with three key orders mixed', medianOf(archiver, 'bytesPerEvent'), 55, 1);
}
