import { bootstrapServers, httpUrl, listenHost, milliseconds, oneOf, onOff, port, prefix, readableFile, text } from './formats.ts';
import type { ConfigOf, VariableTable } from './variable.ts';

/** How to reach Kafka. With a `clientId` beside them the values are kafka-kit's KafkaSettings. */
export const kafkaVariables = {
  bootstrapServers: {
    name: 'KAFKA_BOOTSTRAP_SERVERS',
    about: 'The Kafka brokers to ask first.',
    format: bootstrapServers(),
    need: 'required',
  },
  securityProtocol: {
    name: 'KAFKA_SECURITY_PROTOCOL',
    about: 'Whether the connection to Kafka is encrypted (ssl) and how the process proves who it is (sasl).',
    format: oneOf(['plaintext', 'ssl', 'sasl_plaintext', 'sasl_ssl']),
    need: { default: 'plaintext' },
  },
  saslMechanism: {
    name: 'KAFKA_SASL_MECHANISM',
    about: 'The SASL mechanism that the brokers ask for.',
    format: oneOf(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']),
    need: { requiredWhen: 'KAFKA_SECURITY_PROTOCOL', is: ['sasl_plaintext', 'sasl_ssl'] },
  },
  saslUsername: {
    name: 'KAFKA_SASL_USERNAME',
    about: 'The user name for SASL.',
    format: text(),
    need: { requiredWhen: 'KAFKA_SECURITY_PROTOCOL', is: ['sasl_plaintext', 'sasl_ssl'] },
  },
  saslPassword: {
    name: 'KAFKA_SASL_PASSWORD',
    about: 'The password for SASL.',
    format: text(),
    need: { requiredWhen: 'KAFKA_SECURITY_PROTOCOL', is: ['sasl_plaintext', 'sasl_ssl'] },
    secret: true,
  },
  sslCaLocation: {
    name: 'KAFKA_SSL_CA_LOCATION',
    about: 'A file of certificate authorities (PEM) that the brokers’ certificates are checked against. Not set: the system’s.',
    format: readableFile(),
    need: 'optional',
  },
} as const satisfies VariableTable;

/** Where the lake's bucket is. The keys may come from the AWS SDK's own chain (instance role, profile) instead. */
export const s3Variables = {
  endpoint: {
    name: 'AWS_ENDPOINT_URL_S3',
    about: 'The URL of an S3 server that is not AWS.',
    format: httpUrl(),
    need: 'optional',
  },
  region: { name: 'AWS_REGION', about: 'The region of the bucket.', format: text(), need: 'required' },
  accessKeyId: {
    name: 'AWS_ACCESS_KEY_ID',
    about: 'The access key. Not set: the AWS SDK looks in its own places (profile, instance role).',
    format: text(),
    need: { requiredWhen: 'AWS_SECRET_ACCESS_KEY' },
  },
  secretAccessKey: {
    name: 'AWS_SECRET_ACCESS_KEY',
    about: 'The secret to the access key.',
    format: text(),
    need: { requiredWhen: 'AWS_ACCESS_KEY_ID' },
    secret: true,
  },
  sessionToken: {
    name: 'AWS_SESSION_TOKEN',
    about: 'The session token that belongs to a temporary access key.',
    format: text(),
    need: 'optional',
    secret: true,
  },
  bucket: { name: 'TAILRACE_LAKE_BUCKET', about: 'The bucket that holds the lake.', format: text(), need: 'required' },
  prefix: {
    name: 'TAILRACE_LAKE_PREFIX',
    about: 'The prefix of all the lake’s object names.',
    format: prefix(),
    need: { default: 'lake' },
  },
} as const satisfies VariableTable;

/** How to reach OpenSearch. */
export const opensearchVariables = {
  url: { name: 'OPENSEARCH_URL', about: 'The URL of OpenSearch.', format: httpUrl(), need: 'required' },
  username: {
    name: 'OPENSEARCH_USERNAME',
    about: 'The user name for OpenSearch.',
    format: text(),
    need: { requiredWhen: 'OPENSEARCH_PASSWORD' },
  },
  password: {
    name: 'OPENSEARCH_PASSWORD',
    about: 'The password for OpenSearch.',
    format: text(),
    need: { requiredWhen: 'OPENSEARCH_USERNAME' },
    secret: true,
  },
  caLocation: {
    name: 'OPENSEARCH_CA_LOCATION',
    about: 'A file of certificate authorities (PEM) that OpenSearch’s certificate is checked against. Not set: Node’s own list.',
    format: readableFile(),
    need: 'optional',
  },
} as const satisfies VariableTable;

/** What every service has: its health server, its logs, how it stops. */
export const serviceVariables = {
  healthHost: {
    name: 'HEALTH_HOST',
    about: 'The address on which `/livez`, `/readyz` and `/metrics` are served.',
    format: listenHost(),
    need: { default: '127.0.0.1' },
  },
  healthPort: {
    name: 'HEALTH_PORT',
    about: 'The port of `/livez`, `/readyz` and `/metrics`; the log says which one was taken.',
    format: port(),
    need: { default: '0' },
  },
  logLevel: {
    name: 'LOG_LEVEL',
    about: 'The least serious level that is logged. Under `debug` and `trace` a fault is logged with its stack.',
    format: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    need: { default: 'info' },
  },
  contract: {
    name: 'TAILRACE_CONTRACT',
    about: 'What to do when a topic’s settings are not as declared: say so and go on (warn), or refuse to start (enforce).',
    format: oneOf(['warn', 'enforce']),
    need: { default: 'enforce' },
  },
  topicProfile: {
    name: 'TAILRACE_TOPIC_PROFILE',
    about:
      'How many copies the topics are declared with: three (cluster), or one on a single broker, where a broken disk loses data (local).',
    format: oneOf(['cluster', 'local']),
    need: { default: 'cluster' },
  },
  stopOnStdinEnd: {
    name: 'TAILRACE_STOP_ON_STDIN_END',
    about: 'Stop when standard input ends, so that the process does not outlive the one that started it.',
    format: onOff(),
    need: { default: '0' },
  },
  stopTimeoutMs: {
    name: 'TAILRACE_STOP_TIMEOUT_MS',
    about:
      'How long an orderly stop may take. Keep it below what the supervisor grants before it kills (Kubernetes: 30 s). A process that a stuck client keeps from exiting is then ended within a second, by a signal in place of the exit code: SIGTERM (143) for 0, SIGKILL (137) for 1.',
    format: milliseconds(100, 3_600_000),
    need: { default: '25000' },
  },
} as const satisfies VariableTable;

export type KafkaConfig = ConfigOf<typeof kafkaVariables>;
export type S3Config = ConfigOf<typeof s3Variables>;
export type OpenSearchConfig = ConfigOf<typeof opensearchVariables>;
export type ServiceConfig = ConfigOf<typeof serviceVariables>;
