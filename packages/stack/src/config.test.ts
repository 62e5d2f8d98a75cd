import { expect, test } from 'vitest';
import { type Endpoints, endpointsFromEnvironment, environmentOf } from './config.ts';

const endpoints: Endpoints = {
  kafkaBootstrapServers: '127.0.0.1:1,127.0.0.1:2',
  opensearchUrl: 'http://127.0.0.1:3',
  s3: { endpointUrl: 'http://127.0.0.1:4', region: 'us-east-1', accessKeyId: 'id', secretAccessKey: 'secret', bucket: 'lake' },
};

test('what a stack hands to its children is what they read', () => {
  expect(endpointsFromEnvironment(environmentOf(endpoints))).toEqual(endpoints);
});

test('every missing or empty variable is named at once, and no value is', () => {
  const { OPENSEARCH_URL: _, ...rest } = environmentOf(endpoints);
  const read = () => endpointsFromEnvironment({ ...rest, TAILRACE_LAKE_BUCKET: '' });
  expect(read).toThrow(/\(OPENSEARCH_URL, TAILRACE_LAKE_BUCKET not set\): run npm test/);
  expect(read).not.toThrow(/secret/);
});
