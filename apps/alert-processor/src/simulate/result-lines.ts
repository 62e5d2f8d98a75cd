import type { CaseResult } from './run-case.ts';

/** What people are told of a case: that it is good, or what differs. */
export function resultLines({ name, file, line, differences }: CaseResult): string[] {
  const head = `${differences.length === 0 ? 'ok    ' : 'failed'}  ${name} (${file}:${line})`;
  return [head, ...differences.map((each) => `        ${each}`)];
}

/** The last line. */
export function summaryLine(results: readonly CaseResult[]): string {
  const failed = results.filter(({ differences }) => differences.length > 0).length;
  return `${results.length} ${results.length === 1 ? 'case' : 'cases'}, ${failed === 0 ? 'none failed' : `${failed} failed`}.`;
}
