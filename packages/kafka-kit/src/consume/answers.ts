/** What makes a sink's answer useless; undefined when it has one outcome for each record. A hole in the array would leave its record unsettled for ever. */
export function whatIsWrong(outcomes: unknown, length: number): string | undefined {
  if (!Array.isArray(outcomes)) return typeof outcomes;
  if (outcomes.length !== length) return `${outcomes.length} outcomes`;
  for (let i = 0; i < length; i += 1) if (!isOutcome(outcomes[i])) return `no outcome at ${i}`;
  return undefined;
}

function isOutcome(outcome: unknown): boolean {
  if (typeof outcome !== 'object' || outcome === null || !('kind' in outcome)) return false;
  if (outcome.kind === 'stored') return true;
  const named = 'reason' in outcome && typeof outcome.reason === 'string';
  return named && (outcome.kind === 'skipped' || outcome.kind === 'retry' || outcome.kind === 'dead');
}
