import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { expect, it } from 'vitest';
import { connectionsTo } from './config.ts';

it('a given Kafka that does not answer is one sentence with its address and the setting', () => {
  const { environment } = connectionsTo(endpointsFromEnvironment(), { servers: 'given', brokers: 1 });
  const script = fileURLToPath(new URL('../../../scripts/start.mjs', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [script, '--servers', 'given'], {
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...environment, KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1' },
  });
  expect(stderr).toMatch(
    /The topics can not be made on Kafka at 127\.0\.0\.1:1 \(KAFKA_BOOTSTRAP_SERVERS; connect ECONNREFUSED 127\.0\.0\.1:1\): check [^\n]+\n$/,
  );
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(status).toBe(1);
});
