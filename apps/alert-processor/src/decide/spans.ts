/** What is covered of one source partition for one rule: from `fromMs` to `untilMs`, but for the blind intervals, which nobody read in time. */
export interface Span {
  fromMs: number;
  untilMs: number;
  blind: readonly (readonly [fromMs: number, toMs: number])[];
}

/** More blind intervals than any reach holds: the oldest ones then become one, so that a lane that flaps can not fill the memory. */
const MAX_BLIND = 32;

/**
 * Takes in a claim: that everything in [fromMs, untilMs) was counted. Where it begins above what was covered, the part between is blind, for
 * ever: panes there are sealed by then, and cells that come later are not taken in.
 */
export function claim(span: Span | undefined, fromMs: number, untilMs: number): Span {
  if (span === undefined) return { fromMs, untilMs: Math.max(fromMs, untilMs), blind: [] };
  if (untilMs <= span.untilMs) return span;
  if (fromMs > span.untilMs) span.blind = bounded([...span.blind, [span.untilMs, fromMs]]);
  span.untilMs = untilMs;
  return span;
}

function bounded(blind: Span['blind']): Span['blind'] {
  const [first, second, ...rest] = blind;
  if (blind.length <= MAX_BLIND || first === undefined || second === undefined) return blind;
  return [[first[0], second[1]], ...rest];
}

export function covers({ fromMs: from, untilMs, blind }: Span, fromMs: number, toMs: number): boolean {
  return from <= fromMs && toMs <= untilMs && !blind.some(([begin, end]) => begin < toMs && fromMs < end);
}

/** Forgets blind intervals that no window reaches any more. */
export function forgetBefore(span: Span, beforeMs: number): void {
  if (span.blind.some(([, end]) => end <= beforeMs)) span.blind = span.blind.filter(([, end]) => end > beforeMs);
}
