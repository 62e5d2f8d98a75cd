import {
  type ConfigOf,
  type Environment,
  type KafkaConfig,
  kafkaVariables,
  loadConfig,
  milliseconds,
  s3Variables,
  serviceVariables,
  text,
  type VariableTable,
  wholeNumber,
} from '@tailrace/service';
import { ROTATION } from './rotation.ts';

/** Every setting of the archiver. */
export const archiverVariables = {
  service: serviceVariables,
  kafka: kafkaVariables,
  s3: s3Variables,
  idleMs: {
    name: 'ARCHIVER_IDLE_MS',
    about: 'An object that took in no record for so long is closed and written.',
    format: milliseconds(100, 3_600_000),
    need: { default: '60000' },
  },
  maxRecordTimeMs: {
    name: 'ARCHIVER_MAX_RECORD_TIME_MS',
    about: 'The span of arrival times that one object holds at most; a shorter one makes more and smaller objects.',
    format: milliseconds(1000, 3_600_000),
    need: { default: String(ROTATION.maxRecordTimeMs) },
  },
  dataFolder: {
    name: 'ARCHIVER_DATA_DIR',
    about:
      'The folder in which rows are gathered before they become objects. Nothing in it outlives the process; each archiver needs its own.',
    format: text('a folder'),
    need: 'required',
  },
  maxSpoolMb: {
    name: 'ARCHIVER_MAX_SPOOL_MB',
    about:
      'The disk that gathered rows of all partitions may take, in MiB. Where half of it is in open objects the largest is closed; where all is taken, records wait in Kafka until an object stands in the lake.',
    format: wholeNumber(64, 1_048_576, 'MiB'),
    need: { default: '4096' },
  },
  memoryMb: {
    name: 'ARCHIVER_MEMORY_MB',
    about: 'The memory that the Parquet writer may take, in MiB.',
    format: wholeNumber(128, 65_536, 'MiB'),
    need: { default: '512' },
  },
} as const satisfies VariableTable;

export type ArchiverConfig = ConfigOf<typeof archiverVariables>;

export const readArchiverConfig = (): ArchiverConfig => loadConfig(archiverVariables, process.env);

const lakeVariables = { s3: s3Variables } as const satisfies VariableTable;

/** Of this process. */
export const ownEnvironment: Environment = process.env;

/** What `tailrace lake` needs: where the lake is. */
export const readLakeConfig = (environment: Environment = process.env): ConfigOf<typeof lakeVariables> =>
  loadConfig(lakeVariables, environment);

/** What `tailrace lake audit` needs; without addresses of Kafka it looks at the lake alone. */
export function readAuditConfig(environment: Environment = process.env): ConfigOf<typeof lakeVariables> & { readonly kafka?: KafkaConfig } {
  if ((environment[kafkaVariables.bootstrapServers.name] ?? '') === '') return readLakeConfig(environment);
  return loadConfig({ ...lakeVariables, kafka: kafkaVariables }, environment);
}
