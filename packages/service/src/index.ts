export { commandPorts } from './command/command-ports.ts';
export { COMMAND_EXIT, type CommandPorts, runProgram } from './command/run-program.ts';
export {
  bootstrapServers,
  bytes,
  httpUrl,
  instanceId,
  listenHost,
  milliseconds,
  oneOf,
  onOff,
  port,
  prefix,
  readableFile,
  text,
  wholeNumber,
} from './config/formats.ts';
export { ConfigError, type Environment, loadConfig, type Rule, secretsOf, unknownOf } from './config/load.ts';
export { configReference } from './config/reference.ts';
export {
  type KafkaConfig,
  kafkaVariables,
  type OpenSearchConfig,
  opensearchVariables,
  type S3Config,
  type ServiceConfig,
  s3Variables,
  serviceVariables,
} from './config/tables.ts';
export { type ConfigOf, type Format, type Need, type Variable, type VariableTable, variablesOf } from './config/variable.ts';
export { type Check, type CheckState, Health, type HealthReport } from './health/health.ts';
export { createMetrics, type Metrics } from './health/metrics.ts';
export { createProbes, PROBE_PATHS, type ProbeAnswer, type Probes } from './health/probes.ts';
export { type HealthServer, startHealthServer } from './health/server.ts';
export { endWithParent } from './lifecycle/end-with-parent.ts';
export { EXIT, runService, type Service, type ServiceDefinition } from './lifecycle/run-service.ts';
export { type StopReport, StopRequested, Supervisor } from './lifecycle/supervisor.ts';
export { type KafkaLogLine, kafkaLog } from './logs/kafka-log.ts';
export { listenFault, logListening, readListening, urlOf } from './logs/listening.ts';
export { createLogger, type Logger, type LoggerOptions } from './logs/logger.ts';
export { printable } from './logs/printable.ts';
