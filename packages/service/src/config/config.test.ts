import { expect, expectTypeOf, test } from 'vitest';
import { bytes, milliseconds, oneOf, port, readableFile, text } from './formats.ts';
import { ConfigError, loadConfig, secretsOf } from './load.ts';
import { configReference } from './reference.ts';
import { kafkaVariables, opensearchVariables, s3Variables, serviceVariables } from './tables.ts';
import { type VariableTable, variablesOf } from './variable.ts';

const table = {
  port: { name: 'T_PORT', about: 'The port.', format: port(), need: { default: '8080' } },
  mode: { name: 'T_MODE', about: 'The mode.', format: oneOf(['fast', 'safe']), need: 'required' },
  note: { name: 'T_NOTE', about: 'A note.', format: text(), need: 'optional' },
  inner: {
    password: {
      name: 'T_PASSWORD',
      about: 'The password.',
      format: text(),
      need: { requiredWhen: 'T_MODE', is: ['safe'] },
      secret: true,
    },
    waitMs: { name: 'T_WAIT_MS', about: 'How long.', format: milliseconds(1, 1000), need: { default: '10' } },
  },
} as const satisfies VariableTable;

/** The lines that people see. */
function faults(environment: Record<string, string>, of: VariableTable = table): readonly string[] {
  try {
    loadConfig(of, environment);
    return [];
  } catch (fault) {
    if (fault instanceof ConfigError) return fault.lines;
    throw fault;
  }
}

test('a table gives one frozen, typed object with its defaults; an empty text counts as not set', () => {
  const config = loadConfig(table, { T_MODE: 'FAST', T_NOTE: '', T_PORT: '0' });
  expect(config).toEqual({ port: 0, mode: 'fast', inner: { waitMs: 10 } });
  expect(Object.isFrozen(config) && Object.isFrozen(config.inner)).toBe(true);
  expectTypeOf(config.port).toEqualTypeOf<number>();
  expectTypeOf(config.mode).toEqualTypeOf<'fast' | 'safe'>();
  expectTypeOf(config.note).toEqualTypeOf<string | undefined>();
  expectTypeOf(config.inner.password).toEqualTypeOf<string | undefined>();
});

test('all faults are told at once, each with name, value and what is expected', () => {
  expect(faults({ T_PORT: '70000', T_WAIT_MS: '1.5' })).toEqual([
    'T_PORT is not valid: "70000"; expected a port from 0 to 65535 (0: any free one).',
    'T_MODE is not set; expected one of fast, safe. The mode.',
    'T_WAIT_MS is not valid: "1.5"; expected a whole number of milliseconds from 1 to 1000.',
  ]);
});

test('a variable can be required by the value of another one', () => {
  expect(faults({ T_MODE: 'fast' })).toEqual([]);
  expect(faults({ T_MODE: 'Safe' })).toEqual(['T_PASSWORD is not set and T_MODE is Safe; expected text. The password.']);
  expect(faults({ OPENSEARCH_URL: 'http://x', OPENSEARCH_USERNAME: 'a' }, opensearchVariables)).toEqual([
    'OPENSEARCH_PASSWORD is not set although OPENSEARCH_USERNAME is; expected text. The password for OpenSearch.',
  ]);
});

test('rules over several variables are asked once the single ones are valid', () => {
  const rule = ({ port: given }: { port: number }) => (given === 1 ? 'T_PORT must not be 1.' : undefined);
  expect(() => loadConfig(table, { T_MODE: 'fast', T_PORT: '1' }, [rule])).toThrow('T_PORT must not be 1.');
  expect(loadConfig(table, { T_MODE: 'fast', T_PORT: '2' }, [rule]).port).toBe(2);
});

test('secrets are never in an error, not even those that stand in a URL; long values are cut', () => {
  const secretPort = { port: { ...table.port, secret: true } } as const satisfies VariableTable;
  expect(faults({ T_PORT: 'hunter2' }, secretPort)).toEqual([
    'T_PORT is not valid: (a secret, not shown); expected a port from 0 to 65535 (0: any free one).',
  ]);
  const [line] = faults({ OPENSEARCH_URL: 'https://admin:hunter2@search:9200' }, opensearchVariables);
  expect(line).toContain('https://(not shown)@search:9200');
  expect(line).not.toContain('hunter2');
  expect(faults({ T_MODE: 'x\n'.repeat(1000) })[0]?.length).toBeLessThan(200);
});

test('the secret values that were read are known to the logger and to nobody else', () => {
  const config = loadConfig(table, { T_MODE: 'safe', T_PASSWORD: 'correct horse' });
  expect(secretsOf(config)).toEqual(['correct horse']);
  expect(secretsOf({ ...config })).toEqual([]);
});

test.each([
  ['one:9092, two:9093', 'one:9092,two:9093'],
  ['[::1]:9092', '[::1]:9092'],
  ['kafka', undefined],
  ['kafka:0', undefined],
  ['kafka:70000', undefined],
  ['PLAINTEXT://kafka:9092', undefined],
  ['kafka:9092,', undefined],
])('bootstrap servers %s', (given, expected) => {
  const read = kafkaVariables.bootstrapServers.format.safeParse(given);
  expect(read.success ? read.data : undefined).toBe(expected);
});

test.each([
  ['http://search:9200/', 'http://search:9200'],
  ['https://search/base', 'https://search/base'],
  ['search:9200', undefined],
  ['ftp://search', undefined],
  ['http://a:b@search', undefined],
  ['http://search?x=1', undefined],
])('URL %s', (given, expected) => {
  const read = opensearchVariables.url.format.safeParse(given);
  expect(read.success ? read.data : undefined).toBe(expected);
});

test('numbers are plain decimals within their bounds', () => {
  const size = bytes(1, 100);
  expect(['1', '100', '007'].every((given) => size.safeParse(given).success)).toBe(true);
  expect(['', ' 1', '0', '101', '-1', '1e1', '0x1', '1.0', '1KB', '9'.repeat(30)].some((given) => size.safeParse(given).success)).toBe(
    false,
  );
});

test('a file must be readable', () => {
  expect(readableFile().safeParse(import.meta.filename).success).toBe(true);
  expect(readableFile().safeParse('/nowhere/ca.pem').success).toBe(false);
});

test('the Kafka table fits a cluster with and without SASL', () => {
  expect(loadConfig(kafkaVariables, { KAFKA_BOOTSTRAP_SERVERS: 'k:1' })).toEqual({
    bootstrapServers: 'k:1',
    securityProtocol: 'plaintext',
  });
  expect(
    faults({ KAFKA_BOOTSTRAP_SERVERS: 'k:1', KAFKA_SECURITY_PROTOCOL: 'SASL_SSL', KAFKA_SASL_MECHANISM: 'plain' }, kafkaVariables),
  ).toEqual([
    'KAFKA_SASL_USERNAME is not set and KAFKA_SECURITY_PROTOCOL is SASL_SSL; expected text. The user name for SASL.',
    'KAFKA_SASL_PASSWORD is not set and KAFKA_SECURITY_PROTOCOL is SASL_SSL; expected text. The password for SASL.',
  ]);
});

test('every shared variable has a valid default, names its unit and appears in the reference', () => {
  const tables = { kafka: kafkaVariables, s3: s3Variables, opensearch: opensearchVariables, service: serviceVariables };
  const reference = configReference(tables);
  for (const { name, format, need } of variablesOf(tables)) {
    expect(reference).toContain(`| \`${name}\` |`);
    expect(format.description).toBeTruthy();
    if (typeof need === 'object' && 'default' in need) expect(format.safeParse(need.default).success).toBe(true);
    if (format.description?.includes('milliseconds')) expect(name).toMatch(/_MS$/);
    if (format.description?.includes('bytes')) expect(name).toMatch(/_BYTES$/);
  }
});

test('the reference is a Markdown table', () => {
  expect(configReference(table).split('\n')).toEqual([
    '| variable | what it is | expected | default |',
    '| --- | --- | --- | --- |',
    '| `T_PORT` | The port. | a port from 0 to 65535 (0: any free one) | `8080` |',
    '| `T_MODE` | The mode. | one of fast, safe | **must be set** |',
    '| `T_NOTE` | A note. | text | not set |',
    '| `T_PASSWORD` | The password. | text (secret) | must be set when `T_MODE` is safe |',
    '| `T_WAIT_MS` | How long. | a whole number of milliseconds from 1 to 1000 | `10` |',
  ]);
});

test.each(['localhost', 'localhost:9200', '::', 'http://', ''])(
  '%j is no URL, and is told as a fault of the variable, not thrown',
  (url) => {
    expect(faults({ OPENSEARCH_URL: url }, opensearchVariables)).toEqual([expect.stringMatching(/^OPENSEARCH_URL is not (valid|set)/)]);
  },
);
