import type { Environment } from '@tailrace/service';

/** 0 good, 1 a finding or failed work, 2 wrong use, 130 interrupted. */
export const EXIT = { good: 0, finding: 1, failed: 1, wrongUse: 2, interrupted: 130 } as const;

/** Where a command writes (`out` its result, `note` what happens meanwhile), and what it works on. */
export interface Ports {
  out(text: string): void;
  note(text: string): void;
  /** Where a progress bar is drawn; undefined where lines are to be written. */
  readonly terminal?: NodeJS.WriteStream | undefined;
  nowMs(): number;
  readonly environment: Environment;
  /** Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Adds verbs to a noun: each checks its words at once, and works only where more than a check was asked for. */
export interface VerbContext {
  readonly ports: Ports;
  act(work: () => Promise<number>, check?: () => void): Promise<void>;
}
