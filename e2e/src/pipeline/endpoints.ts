import { readFileSync } from 'node:fs';
import type { KafkaSettings } from '@tailrace/kafka-kit';
import type { LakeLayout, S3Store } from '@tailrace/lake';

/** Where the servers answer. */
export interface ServerEndpoints {
  readonly kafkaBootstrapServers: string;
  readonly opensearchUrl: string;
  readonly s3: {
    readonly endpointUrl: string;
    readonly region: string;
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly bucket: string;
  };
}

/** What `npm start -- --endpoints FILE` writes, as far as it is read here. */
export interface Endpoints extends ServerEndpoints {
  readonly gateway: string;
  /** Where logs, spools and (without --data) all data lie. */
  readonly folder: string;
}

export type S3Settings = ConstructorParameters<typeof S3Store>[0];

export const TOPIC = 'service-events';
export const LAKE: LakeLayout = { prefix: 'lake', stream: TOPIC };

/** Undefined while there is no whole file yet. */
export function readEndpoints(file: string): Endpoints | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Endpoints;
  } catch {
    return undefined; // Not written yet; whoever waits looks again and says so if it never comes.
  }
}

export function kafkaSettings({ kafkaBootstrapServers }: Pick<ServerEndpoints, 'kafkaBootstrapServers'>): KafkaSettings {
  return { clientId: 'tailrace-e2e', bootstrapServers: kafkaBootstrapServers, securityProtocol: 'plaintext' };
}

export function s3Settings({ s3 }: Pick<ServerEndpoints, 's3'>): S3Settings {
  const { endpointUrl: endpoint, region, bucket, accessKeyId, secretAccessKey } = s3;
  return { endpoint, region, bucket, accessKeyId, secretAccessKey };
}
