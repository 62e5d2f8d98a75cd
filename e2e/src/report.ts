import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './root.ts';

export const RESULTS_FOLDER = join(ROOT, '.results/');

/** Says what was measured: on the terminal, and in a file beside the results. */
export function report(line: string): void {
  console.info(line);
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  appendFileSync(`${RESULTS_FOLDER}e2e-measured.txt`, `${line}\n`);
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
