import { Counter, Gauge, type Registry } from 'prom-client';
import type { HaltCause } from '../consume/lane-view.ts';
import type { ConsumerRuntime } from '../consume/runtime.ts';
import type { RuntimeEvent } from './runtime-events.ts';

const CAUSES: readonly HaltCause[] = ['expired', 'truncated', 'recreated', 'dead', 'sink'];

/** Figures of what can not be read where it was expected: how many offsets, and how many partitions stand still before what. */
export function gapMetrics(
  registry: Registry,
  watched: readonly { readonly group: string; readonly runtime: Pick<ConsumerRuntime, 'lanes'> }[],
): (group: string, event: Extract<RuntimeEvent, { kind: 'gap' }>) => void {
  const offsets = new Counter({
    name: 'tailrace_consumer_gap_offsets_total',
    help: 'Offsets in the ranges of gaps_total. A topic that was made anew has no range.',
    labelNames: ['group', 'topic', 'partition', 'kind', 'done'],
    registers: [registry],
  });
  new Gauge({
    name: 'tailrace_consumer_halted_partitions',
    help: 'Partitions that wait for a person now, by what they stand before.',
    labelNames: ['group', 'reason'],
    registers: [registry],
    collect() {
      for (const { group, runtime } of watched) {
        const lanes = runtime.lanes();
        for (const reason of CAUSES) this.set({ group, reason }, lanes.filter(({ haltedBy }) => haltedBy === reason).length);
      }
    },
  });
  return (group, { lane, gap, done }) => {
    offsets.inc({ group, topic: lane.topic, partition: lane.partition, kind: gap.kind, done }, gap.to - gap.from);
  };
}
