import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Clock, TAILRACE } from '@tailrace/kafka-kit';
import { ConfigError, type Environment } from '@tailrace/service';
import { problemLine } from '../rules/reading.ts';
import type { Notifier } from './notifier.ts';
import { readNotifiers } from './read-notifiers.ts';

/** The notifiers of `ALERT_NOTIFIERS`; no file: none. Files of secrets are looked for beside it. @throws ConfigError with a line for each problem. */
export function openNotifiers(file: string | undefined, environment: Environment, clock: Clock): readonly Notifier[] {
  if (file === undefined) return [];
  const readFile = (path: string): string => readFileSync(resolve(dirname(file), path), 'utf8');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError([`ALERT_NOTIFIERS names ${file}, which can not be read (${(error as NodeJS.ErrnoException).code ?? 'fault'}).`]);
  }
  const read = readNotifiers(text, { file, environment, clock, readFile });
  if ('problems' in read) throw new ConfigError(read.problems.map(problemLine));
  return read.notifiers;
}

/** What the start says about them, once. */
export function notifiersLine(notifiers: readonly Notifier[]): string {
  if (notifiers.length === 0)
    return `Nobody is told of alerts: ALERT_NOTIFIERS is not set or lists none. They are kept, logged, and listed by: ${TAILRACE} alerts ls`;
  return `Alerts are told through ${notifiers.map(({ name }) => name).join(', ')}.`;
}
