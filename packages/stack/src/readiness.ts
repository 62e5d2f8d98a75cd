import { connect } from 'node:net';
import { type Endpoints, quietAwsSdk } from './config.ts';

const REQUEST_TIMEOUT_MS = 2_000;

/** What a metadata answer says about the cluster. */
export interface KafkaMetadata {
  /** The node ids of the brokers that serve. */
  readonly brokers: readonly number[];
  /** -1 without a controller. */
  readonly controllerId: number;
}

/**
 * Asks a broker for its metadata (Metadata request, version 1, no topics), which needs no client library.
 * A broker that only listens is not ready: it serves once it has registered with the controller and then stands in the list.
 */
export function kafkaMetadata(port: number): Promise<KafkaMetadata> {
  const clientId = Buffer.from('tailrace-stack');
  const request = Buffer.alloc(4 + 2 + 2 + 4 + 2 + clientId.length + 4);
  let at = request.writeInt32BE(request.length - 4, 0);
  at = request.writeInt16BE(3, at); // Metadata
  at = request.writeInt16BE(1, at); // version
  at = request.writeInt32BE(1, at); // correlation id
  at = request.writeInt16BE(clientId.length, at);
  at += clientId.copy(request, at);
  request.writeInt32BE(0, at); // an empty list of topics
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let answer = Buffer.alloc(0);
    socket.setTimeout(REQUEST_TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed')));
    socket.on('data', (chunk) => {
      answer = Buffer.concat([answer, chunk]);
      if (answer.length < 4 || answer.length < 4 + answer.readInt32BE(0)) return;
      resolve(parseMetadata(answer));
      socket.destroy();
    });
  });
}

function parseMetadata(answer: Buffer): KafkaMetadata {
  let at = 8; // size, correlation id
  const count = answer.readInt32BE(at);
  at += 4;
  const brokers: number[] = [];
  for (let i = 0; i < count; i++) {
    brokers.push(answer.readInt32BE(at));
    at += 4;
    at += 2 + answer.readInt16BE(at); // host
    at += 4; // port
    at += 2 + Math.max(0, answer.readInt16BE(at)); // rack, length -1 when null
  }
  return { brokers, controllerId: answer.readInt32BE(at) };
}

/** Passes when a broker stands in its own list and a controller is elected. Others may be away: that is no fault of this one. */
export async function kafkaAnswers(port: number, nodeId: number): Promise<void> {
  const { brokers, controllerId } = await kafkaMetadata(port);
  if (!brokers.includes(nodeId) || controllerId < 0) {
    throw new Error(`registered are the brokers ${brokers.join(', ') || 'none'}, controller ${controllerId}`);
  }
}

/** Passes when the cluster's health is green or yellow (one node can keep no replica). */
export async function openSearchAnswers(url: string): Promise<void> {
  const response = await fetch(`${url}/_cluster/health`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  const health = (await response.json()) as { status?: string };
  if (health.status !== 'green' && health.status !== 'yellow') throw new Error(`health is ${health.status ?? response.status}`);
}

/** Makes the bucket; passes when it is there. The signed request also proves that the server knows our credentials. */
export async function s3Answers(s3: Endpoints['s3']): Promise<void> {
  quietAwsSdk();
  // Only here: whoever asks for endpoints alone does not load the client.
  const { CreateBucketCommand, S3Client } = await import('@aws-sdk/client-s3');
  const client = new S3Client({ endpoint: s3.endpointUrl, region: s3.region, credentials: s3, forcePathStyle: true, maxAttempts: 1 });
  try {
    await client.send(new CreateBucketCommand({ Bucket: s3.bucket }), { abortSignal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  } catch (failed) {
    const name = (failed as Error).name;
    if (name !== 'BucketAlreadyOwnedByYou' && name !== 'BucketAlreadyExists') throw failed;
  } finally {
    client.destroy();
  }
}
