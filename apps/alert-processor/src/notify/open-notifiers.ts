import { dirname, resolve } from 'node:path';
import { type Clock, TAILRACE } from '@tailrace/kafka-kit';
import { ConfigError, type Environment } from '@tailrace/service';
import { readText } from '../rules/read-text.ts';
import { MAX_FILE_BYTES, problemLine } from '../rules/reading.ts';
import type { Notifier } from './notifier.ts';
import { type ReadNotifiers, readNotifiers } from './read-notifiers.ts';
import { MAX_SECRET_BYTES } from './secret.ts';

/** What stands in a notifiers file. Files of secrets are looked for beside it. @throws ConfigError where it can not be read at all; `from` names who names it. */
export function readNotifiersAt(file: string, from: string, environment: Environment, clock: Clock): ReadNotifiers {
  const readFile = (path: string): string => readText(resolve(dirname(file), path), MAX_SECRET_BYTES);
  let text: string;
  try {
    text = readText(file, MAX_FILE_BYTES);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError([`${from} names ${file}, which can not be read (${code ?? message}).`]);
  }
  return readNotifiers(text, { file, environment, clock, readFile });
}

/** The notifiers of `ALERT_NOTIFIERS`, or of who else names them; no file: none. @throws ConfigError with a line for each problem. */
export function openNotifiers(
  file: string | undefined,
  environment: Environment,
  clock: Clock,
  from = 'ALERT_NOTIFIERS',
): readonly Notifier[] {
  if (file === undefined) return [];
  const read = readNotifiersAt(file, from, environment, clock);
  if ('problems' in read) throw new ConfigError(read.problems.map(problemLine));
  return read.notifiers;
}

/** What the start says about them, once. */
export function notifiersLine(notifiers: readonly Notifier[]): string {
  if (notifiers.length === 0)
    return `Nobody is told of alerts: ALERT_NOTIFIERS is not set or lists none. They are kept, logged, and listed by: ${TAILRACE} alerts ls`;
  return `Alerts are told through ${notifiers.map(({ name }) => name).join(', ')}.`;
}
