import type { Ports } from './ports.ts';

export interface NamedNotifiers {
  readonly file: string;
  /** What names the file. */
  readonly from: '--notifiers' | 'ALERT_NOTIFIERS';
}

/** The notifiers file of `--notifiers`, or else that of the processor here; undefined where neither names one. An empty variable is not set, as for the services. */
export function namedNotifiers(flag: string | undefined, { environment }: Pick<Ports, 'environment'>): NamedNotifiers | undefined {
  if (flag !== undefined) return { file: flag, from: '--notifiers' };
  return environment.ALERT_NOTIFIERS ? { file: environment.ALERT_NOTIFIERS, from: 'ALERT_NOTIFIERS' } : undefined;
}
