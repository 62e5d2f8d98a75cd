import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { layWire, type SinkRecord, sinkConformance } from '@tailrace/kafka-kit/testing';
import { Database, S3Store } from '@tailrace/lake';
import { createArchiver } from './archiver.ts';
import { Spool } from './spool.ts';
import { Bench } from './testing/real-servers.ts';

const VALUES = [null, Buffer.alloc(0), Buffer.from([0xff, 0x00, 0x0a]), Buffer.from('two\nlines'), Buffer.from('{"service":"c"')];

/** Every record is a row, whatever its bytes are. */
function record(offset: number): SinkRecord {
  const event = { timestamp: '2026-01-31T23:59:59.123Z', service: 'web', message: `“${offset}” ${'💥'.repeat(offset % 40)}` };
  const own = {
    key: offset % 3 === 0 ? null : Buffer.from([offset % 256, 0, 9]),
    value: offset % 4 === 1 ? (VALUES[offset % VALUES.length] ?? null) : Buffer.from(JSON.stringify(event)),
    headers: offset % 2 === 0 ? [] : ([['x', Buffer.from([0, 255, offset % 256])]] as const),
  };
  return { ...own, outcome: 'stored', kept: own };
}

sinkConformance('lake', async () => {
  const bench = await Bench.open();
  const wire = await layWire(bench.config.s3.endpoint ?? '');
  const [chain] = await bench.chains();
  const closing: (() => void)[] = [];
  let partition = 0;
  return {
    store: wire,
    async open() {
      const store = new S3Store({ ...bench.config.s3, endpoint: wire.url });
      const database = await Database.open();
      const spool = await Spool.open(join(bench.config.dataFolder, randomUUID()));
      const ports = { store, database, spool, observeArchive: () => {}, observeRuntime: () => {} };
      const archiver = createArchiver(bench.config, ports, { group: `${bench.id}-${randomUUID()}`, topics: [bench.topic] });
      closing.push(
        () => archiver.close(),
        () => database.close(),
        () => store.close(),
      );
      return archiver.sink;
    },
    // Of the topic's present life: the sink looks that up. Nothing is read from Kafka, so a partition is but a number.
    source: async () => ({ topic: bench.topic, partition: partition++, incarnation: chain?.incarnation ?? '' }),
    record,
    async kept(source) {
      const records = await bench.inLake(source);
      return records.map(({ offset, key, value, headers }) => [offset, { key, value, headers }]);
    },
    async close() {
      for (const close of closing) close();
      wire.end();
      await bench.close();
    },
  };
});
