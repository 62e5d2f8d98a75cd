// A bare loop that reads what comes now and parses it, for some seconds: what the alert processor is held against.
import { bareConsumer, consumeSome } from '../lib/bare-consumer.mjs';

const { topic, partitions, seconds, environment } = JSON.parse(process.argv[2] ?? '');
const consumer = await bareConsumer(environment.KAFKA_BOOTSTRAP_SERVERS, `bench-bare-parse-${process.pid}`);
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
  const messages = await consumeSome(consumer);
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
