import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** Whole settings that lead nowhere. */
const NOBODY = {
  KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1',
  OPENSEARCH_URL: 'http://127.0.0.1:1',
  AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
  AWS_REGION: 'nowhere',
  TAILRACE_LAKE_BUCKET: 'none',
  HEALTH_PORT: '0',
};

test('a full disk below a service’s log is one sentence for whoever runs the services, and the service is ended', () => {
  // /dev/full answers each write as a full disk does. A process of its own: an unheard error of a stream ends it.
  const script = `import('${new URL('service-process.ts', import.meta.url)}').then(async ({ ServiceProcess }) => {
    const service = new ServiceProcess({ name: 'indexer', environment: ${JSON.stringify(NOBODY)}, keepsPort: undefined, logFile: '/dev/full',
      lifeline: undefined, report: () => {} });
    service.start();
    await service.broken.catch(({ name, message, exitCode }) => console.log(JSON.stringify({ name, message, exitCode })));
    await service.stop();
    console.log('stopped');
  })`;
  // It waits for servers that nobody runs, and says so: lines for its log.
  const options = { encoding: 'utf8', timeout: 30_000 } as const;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--conditions=tailrace-src', '--import', 'tsx', '-e', script], options);
  expect(stderr).toBe('');
  expect(status).toBe(0);
  const [failure, stopped] = stdout.trim().split('\n');
  expect(JSON.parse(failure ?? '')).toMatchObject({ name: 'Failure', exitCode: 1 });
  expect(JSON.parse(failure ?? '').message).toMatch(
    /^The log of the indexer can not be written, the disk of \/dev is full \(\d+ MB free; the servers need 500 MB\): make room there, or name a folder on another disk, then start again\.$/,
  );
  expect(stopped).toBe('stopped');
});

test('a service that refuses its configuration is ended with its own sentence: its log may be gone when somebody looks', () => {
  const script = `import('${new URL('service-process.ts', import.meta.url)}').then(async ({ ServiceProcess }) => {
    const service = new ServiceProcess({ name: 'indexer', environment: {}, keepsPort: undefined, logFile: '/dev/null',
      lifeline: undefined, report: () => {} });
    service.start();
    await service.broken.catch(({ message }) => console.log(message));
    await service.stop();
  })`;
  const options = { encoding: 'utf8', timeout: 30_000 } as const;
  const { stdout } = spawnSync(process.execPath, ['--conditions=tailrace-src', '--import', 'tsx', '-e', script], options);
  expect(stdout).toMatch(/^The indexer refuses its configuration: .*(_URL|_SERVERS|AWS_REGION|TAILRACE_LAKE_BUCKET)/);
});
