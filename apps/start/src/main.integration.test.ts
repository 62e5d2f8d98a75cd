import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

it('rules and notifiers that make no sense are told before any server is asked, each problem in its line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tailrace-start-'));
  const [rules, notifiers] = [join(folder, 'rules.yaml'), join(folder, 'notifiers.yaml')];
  writeFileSync(rules, 'rules:\n  - {name: a, notify: [gone]}\n');
  writeFileSync(
    notifiers,
    'notifiers:\n  - {name: mail, kind: email, host: "mail.example.com:587", from: a@b.example, to: [c@d.example]}\n',
  );
  const script = fileURLToPath(new URL('../../../scripts/start.mjs', import.meta.url));
  const { environment } = connectionsTo(endpointsFromEnvironment(), { servers: 'given', brokers: 1 });
  const { status, stderr } = spawnSync(process.execPath, [script, '--servers', 'given'], {
    encoding: 'utf8',
    timeout: 60_000,
    // Who asked it would say that it does not answer.
    env: { ...environment, KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1', ALERT_RULES: rules, ALERT_NOTIFIERS: notifiers },
  });
  rmSync(folder, { recursive: true });
  expect(status).toBe(2);
  expect(stderr).not.toContain('127.0.0.1:1');
  expect(stderr).toMatch(/would refuse what it is given:\n\S+notifiers\.yaml:2:\d+: A host is .*\n\S+rules\.yaml:2:\d+: .*\n/);
  expect(stderr).toContain('There is no notifier gone: there is mail.');
});
