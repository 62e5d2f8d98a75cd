import { bothTimes, type Planning, type PlanWindow, span } from '@tailrace/lake';

/** Why a window has no plan, and what can be had instead. */
export function planRefusal(planning: Exclude<Planning, { readonly kind: 'planned' }>, window: PlanWindow): string {
  if (planning.kind === 'anew') {
    const lives = planning.lives.map(({ incarnation, oldestMs, newestMs }) => {
      const from = oldestMs === null ? '' : ` from ${bothTimes(oldestMs)}`;
      const to = newestMs === null ? '' : ` up to ${bothTimes(newestMs)}`;
      return `${incarnation}${from}${to}`;
    });
    return `The topic ${planning.lives[0]?.topic} was made anew inside the window, and one plan never mixes two lives of a topic: plan them one by one (${lives.join('; ')}).`;
  }
  const { lakeMs, kafkaMs } = planning;
  const had = [
    ...(lakeMs === null ? [] : [`from the lake since ${bothTimes(lakeMs)}`]),
    ...(kafkaMs === null ? [] : [`from Kafka since ${bothTimes(kafkaMs)}`]),
  ];
  if (had.length === 0) return 'There is nothing to replay: neither the lake nor Kafka holds a record yet.';
  const skew =
    window.by === 'event'
      ? ` An event is looked for within ${span(window.skewMs)} of its arrival: where these came later than that, give a larger --skew.`
      : '';
  return `The window ends at ${bothTimes(window.toMs)}, before the oldest record that is left: records can be had ${had.join(', and ')}.${skew}`;
}
