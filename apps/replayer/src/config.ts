import {
  type ConfigOf,
  type Environment,
  kafkaVariables,
  loadConfig,
  s3Variables,
  type VariableTable,
  wholeNumber,
} from '@tailrace/service';

/** What a replay needs: where the records are, and what the consumer would skip. */
export const replayerVariables = {
  kafka: kafkaVariables,
  s3: s3Variables,
  indexRetentionDays: {
    name: 'INDEX_RETENTION_DAYS',
    about: 'The indexer’s own: `replay plan` refuses a window that reaches further back, unless it is given --keep.',
    format: wholeNumber(1, 36_500),
    need: { default: '14' },
  },
} as const satisfies VariableTable;

export type ReplayerConfig = ConfigOf<typeof replayerVariables>;

/** Throws ConfigError. */
export const readReplayerConfig = (environment: Environment): ReplayerConfig => loadConfig(replayerVariables, environment);

/** Of this process. */
export const ownEnvironment: Environment = process.env;

/** Set by who wants the generated page written instead of compared. */
export const updateDocs = process.env.UPDATE_DOCS === '1';
