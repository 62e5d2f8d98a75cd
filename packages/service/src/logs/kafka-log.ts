import type { Logger } from './logger.ts';

/** A log line of the Kafka client: syslog severity (0 worst to 7), the facility that wrote it, its text. */
export interface KafkaLogLine {
  readonly severity: number;
  readonly facility: string;
  readonly message: string;
}

const LEVEL_BY_SEVERITY = ['error', 'error', 'error', 'error', 'warn', 'info', 'info', 'debug'] as const;

/**
 * Turns the Kafka client's log lines into lines of ours, with their facility.
 * Even its gravest ones are not `fatal` here: that word is kept for the end of the process, which the client does not decide.
 */
export function kafkaLog(log: Logger): (line: KafkaLogLine) => void {
  const child = log.child({ from: 'kafka-client' });
  return ({ severity, facility, message }) => child[LEVEL_BY_SEVERITY[severity] ?? 'info']({ facility }, message);
}
