// Puts one record that is no JSON into Kafka, past the gateway, which would refuse it: the indexer makes a dead letter of it.
// For a pipeline that runs with: npm start -- --endpoints tailrace.json
import { readFileSync } from 'node:fs';
import { connectPublisher } from '@tailrace/kafka-kit';

const FILE = 'tailrace.json';

function readBootstrapServers() {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')).kafkaBootstrapServers;
  } catch (fault) {
    console.error(
      `The endpoints file ${FILE} can not be read (${fault.code ?? fault.message}): run npm start -- --endpoints ${FILE} first.`,
    );
    process.exit(1);
  }
}

const settings = { bootstrapServers: readBootstrapServers(), clientId: 'dead-letter-example', securityProtocol: 'plaintext' };
const publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: 1_000_000, log: () => {} });
const record = { topic: 'service-events', key: Buffer.from('cust_42'), value: Buffer.from('{"service":"checkout", not JSON') };
const [fate] = await publisher.publish([record], { deadlineMs: 10_000 });
console.log(fate.kind);
await publisher.close(5000);
