import type { TrialEvent } from './alert-trial.ts';

export const PARTITIONS = 12;

/** A rules file: of each rule by its name the lines that make it what it is. */
export function rulesOf(rules: Readonly<Record<string, string>>, words = 'Look at the service.'): string {
  const each = Object.entries(rules).map(
    ([name, lines]) => `  - name: ${name}
    summary: "{service}: ${name}. ${words}"
    group_by: [service]
    severity: critical
    response: {do: "${words}", do_not: "Do not restart Kafka."}
${lines
  .split('; ')
  .map((line) => `    ${line}\n`)
  .join('')}`,
  );
  return `rules:\n${each.join('')}`;
}

export interface EventsOptions {
  readonly status?: number;
  readonly timestamp?: string;
  /** Partitions that get none. */
  readonly but?: readonly number[];
}

/** So many events of a service in every partition. */
export function eventsOf(service: string, each: number, { but = [], status = 200, ...more }: EventsOptions = {}): TrialEvent[] {
  const partitions = Array.from({ length: PARTITIONS }, (_, i) => i).filter((partition) => !but.includes(partition));
  return Array.from({ length: each }, () => partitions.map((partition) => ({ service, partition, status, ...more }))).flat();
}
