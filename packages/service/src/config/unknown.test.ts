import { expect, it } from 'vitest';
import { port } from './formats.ts';
import { loadConfig, unknownOf } from './load.ts';
import { kafkaVariables, serviceVariables } from './tables.ts';
import type { VariableTable } from './variable.ts';

const table = {
  service: serviceVariables,
  kafka: kafkaVariables,
  port: { name: 'GATEWAY_PORT', about: 'The port.', format: port(), need: { default: '8080' } },
  age: { name: 'INDEX_MAX_AGE_MS', about: 'The age.', format: port(), need: { default: '8080' } },
} as const satisfies VariableTable;

const told = (more: Record<string, string>): readonly string[] => unknownOf(loadConfig(table, { KAFKA_BOOTSTRAP_SERVERS: 'k:1', ...more }));

it.each([
  ['GATEWAY_PRT', 'GATEWAY_PORT'],
  ['GATEWAY_POST', 'GATEWAY_PORT'],
  ['INDEXER_MAX_AGE_MS', 'INDEX_MAX_AGE_MS'],
  ['TAILRACE_TOPIC_PROFIL', 'TAILRACE_TOPIC_PROFILE'],
  ['TAILRACE_STOP_TIMEOUT', 'TAILRACE_STOP_TIMEOUT_MS'],
])('a misspelt variable of ours is told with the nearest name, not silently without effect: %s', (name, nearest) => {
  expect(told({ [name]: '9' })).toEqual([
    `${name} is set, and nothing reads it: it has no effect. The nearest name that this service has is ${nearest}.`,
  ]);
});

it('the value is not shown: it may be a secret', () => {
  expect(told({ GATEWAY_PASSWORD: 'hunter2' }).join()).not.toContain('hunter2');
});

it.each([
  'GATEWAY_PORT',
  'TAILRACE_LAKE_BUCKET',
  'TAILRACE_JAVA',
  'ARCHIVER_IDLE_MS',
  'GATEWAY_SERVICE_HOST',
  'GATEWAY_SERVICE_PORT_HTTP',
  'GATEWAY_PORT_8080_TCP_ADDR',
  'PATH',
  'KAFKA_HEAP_OPTS',
])('what is known, another service’s, or set by the place in which it runs is not told: %s', (name) => {
  expect(told({ [name]: '9' })).toEqual([]);
});
