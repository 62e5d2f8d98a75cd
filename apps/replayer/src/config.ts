import { type ConfigOf, type Environment, kafkaVariables, loadConfig, s3Variables, type VariableTable } from '@tailrace/service';

/** What a replay needs: where the records are. */
export const replayerVariables = { kafka: kafkaVariables, s3: s3Variables } as const satisfies VariableTable;

export type ReplayerConfig = ConfigOf<typeof replayerVariables>;

/** Throws ConfigError. */
export const readReplayerConfig = (environment: Environment): ReplayerConfig => loadConfig(replayerVariables, environment);

/** Of this process. */
export const ownEnvironment: Environment = process.env;

/** Set by who wants the generated page written instead of compared. */
export const updateDocs = process.env.UPDATE_DOCS === '1';
