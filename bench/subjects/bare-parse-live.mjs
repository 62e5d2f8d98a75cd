// A bare loop that reads what comes now and parses it, for some seconds: what the alert processor is held against.
import kafka from '@confluentinc/kafka-javascript';

const { topic, partitions, seconds, environment } = JSON.parse(process.argv[2] ?? '');
const consumer = new kafka.KafkaConsumer({
  'bootstrap.servers': environment.KAFKA_BOOTSTRAP_SERVERS,
  'group.id': `bench-bare-parse-${process.pid}`,
  'enable.auto.commit': false,
  'enable.auto.offset.store': false,
  'fetch.queue.backoff.ms': 20,
  'queued.min.messages': 10_000,
  'queued.max.messages.kbytes': 16_384,
  'fetch.wait.max.ms': 100,
  'fetch.message.max.bytes': 262_144,
});
await new Promise((resolve, reject) => consumer.connect({}, (fault) => (fault ? reject(fault) : resolve(undefined))));
consumer.setDefaultConsumeTimeout(50);
consumer.setDefaultIsTimeoutOnlyForFirstMessage(true);
const ends = await Promise.all(
  Array.from(
    { length: partitions },
    (_, partition) =>
      new Promise((resolve, reject) =>
        consumer.queryWatermarkOffsets(topic, partition, 10_000, (fault, { highOffset } = {}) =>
          fault ? reject(fault) : resolve({ topic, partition, offset: highOffset }),
        ),
      ),
  ),
);
consumer.assign(ends);
let records = 0;
let services = 0;
let cpu;
let startedMs = performance.now();
const WARM_MS = 3000;
while (performance.now() - startedMs < (cpu === undefined ? WARM_MS : seconds * 1000)) {
  const messages = await new Promise((resolve, reject) =>
    consumer.consume(1000, (fault, found) => (fault ? reject(fault) : resolve(found))),
  );
  for (const { value } of messages) if (JSON.parse(value.toString('utf8')).service !== undefined) services += 1;
  records += messages.length;
  // Code is compiled and the end reached before anything is measured.
  if (cpu === undefined && performance.now() - startedMs >= WARM_MS) {
    cpu = process.cpuUsage();
    records = 0;
    startedMs = performance.now();
  }
}
const { user, system } = process.cpuUsage(cpu);
process.stdout.write(`${JSON.stringify({ cpuUs: (user + system) / records, records, services })}\n`);
process.exit(0);
