import {
  bytes,
  type ConfigOf,
  kafkaVariables,
  loadConfig,
  milliseconds,
  onOff,
  opensearchVariables,
  readableFile,
  s3Variables,
  serviceVariables,
  type VariableTable,
  wholeNumber,
} from '@tailrace/service';

const MIB = 1024 * 1024;

/** Every setting of the indexer. */
export const indexerVariables = {
  service: serviceVariables,
  kafka: kafkaVariables,
  opensearch: opensearchVariables,
  /** The lake, from which comes what Kafka deleted too early. A dead record that no topic takes is stored in its bucket. */
  s3: s3Variables,
  shards: {
    name: 'INDEX_SHARDS',
    about: 'Primary shards of each daily index. Counts for indices that are made from now on.',
    format: wholeNumber(1, 1024),
    need: { default: '1' },
  },
  replicas: {
    name: 'INDEX_REPLICAS',
    about: 'Copies of each shard beside the primary one; 0 on a single node. Counts for indices that are made from now on.',
    format: wholeNumber(0, 100),
    need: { default: '1' },
  },
  retentionDays: {
    name: 'INDEX_RETENTION_DAYS',
    about: 'Records of a day further back than this are skipped and counted, whichever way they came.',
    format: wholeNumber(1, 36_500),
    need: { default: '14' },
  },
  bulksAtOnce: {
    name: 'INDEX_BULKS_AT_ONCE',
    about: 'Bulks that are on their way to OpenSearch at a time, over all partitions of the process.',
    format: wholeNumber(1, 64),
    need: { default: '4' },
  },
  maxBulkBytes: {
    name: 'INDEX_MAX_BULK_BYTES',
    about: 'The largest bulk that is sent. OpenSearch refuses for ever what is above a tenth of its heap.',
    format: bytes(MIB, 10 * MIB),
    need: { default: String(8 * MIB) },
  },
  maxAgeMs: {
    name: 'INDEX_MAX_AGE_MS',
    about: 'How long a record may wait for others before its bulk is sent.',
    format: milliseconds(10, 60_000),
    need: { default: '500' },
  },
  parser: {
    name: 'INDEXER_PARSER',
    about:
      'An ES module of your own that exports parse(record): it makes an event of a record of another format, skips it, or calls it dead. Without it a record’s value is the event.',
    format: readableFile(),
    need: 'optional',
  },
  haltOnDeadLetters: {
    name: 'INDEX_DEAD_LETTER_HALT',
    about:
      'Stop a partition when most of its latest records are dead, under many services at once: the sign of a fault of the indexer’s own. 0: they become dead letters all the same.',
    format: onOff(),
    need: { default: '1' },
  },
} as const satisfies VariableTable;

export type IndexerConfig = ConfigOf<typeof indexerVariables>;

export const readIndexerConfig = (): IndexerConfig => loadConfig(indexerVariables, process.env);

/** Set by who wants the generated page written instead of compared. */
export const updateDocs = process.env.UPDATE_DOCS === '1';
