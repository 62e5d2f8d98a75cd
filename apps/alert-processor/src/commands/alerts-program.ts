import type { Command } from 'commander';
import type { VerbContext } from './ports.ts';

/** The verbs of `tailrace alerts`. */
export function addAlertsVerbs(_alerts: Command, _context: VerbContext): void {
  // `alerts ls`, `alerts show` and `alerts silence` are added here.
}
