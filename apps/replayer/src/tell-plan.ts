import { type PartitionSources, type PlannedPartition, type ReplayPlan, whereNow } from '@tailrace/lake';
import { type HeldNow, planLines } from './plan-lines.ts';
import type { JsonFlag, Ports } from './ports.ts';

/** Prints a plan with what holds it now. */
export function tellPlan(
  ports: Ports,
  { json }: JsonFlag,
  shown: ReplayPlan & { readonly id: number | null; readonly state?: string },
  sources: readonly PartitionSources[],
  last: readonly string[],
): void {
  const now = (planned: PlannedPartition): HeldNow => {
    const of = sources.find(
      ({ topic, incarnation, partition }) =>
        topic === planned.topic && incarnation === planned.incarnation && partition === planned.partition,
    );
    return of === undefined ? { lake: [], kafka: [] } : whereNow(of, planned.ranges);
  };
  const value = { ...shown, partitions: shown.partitions.map((each) => ({ ...each, now: now(each) })) };
  ports.out(json === true ? `${JSON.stringify(value)}\n` : `${[...planLines(shown, now), ...last].join('\n')}\n`);
}
