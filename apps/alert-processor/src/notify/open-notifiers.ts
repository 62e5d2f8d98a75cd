import { dirname, resolve } from 'node:path';
import { type Clock, TAILRACE } from '@tailrace/kafka-kit';
import { ConfigError, type Environment } from '@tailrace/service';
import { readText } from '../rules/read-text.ts';
import { MAX_FILE_BYTES, problemLine } from '../rules/reading.ts';
import type { Notifier } from './notifier.ts';
import { readNotifiers } from './read-notifiers.ts';
import { MAX_SECRET_BYTES } from './secret.ts';

/** The notifiers of `ALERT_NOTIFIERS`; no file: none. Files of secrets are looked for beside it. @throws ConfigError with a line for each problem. */
export function openNotifiers(file: string | undefined, environment: Environment, clock: Clock): readonly Notifier[] {
  if (file === undefined) return [];
  const readFile = (path: string): string => readText(resolve(dirname(file), path), MAX_SECRET_BYTES);
  let text: string;
  try {
    text = readText(file, MAX_FILE_BYTES);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError([`ALERT_NOTIFIERS names ${file}, which can not be read (${code ?? message}).`]);
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
