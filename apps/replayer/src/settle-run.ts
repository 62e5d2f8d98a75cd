import type { OutgoingRecord } from '@tailrace/kafka-kit';
import {
  makeReceipt,
  notApplied,
  planMark,
  type Receipt,
  type ReplayRun,
  type ReplayRuns,
  type SentReport,
  type StoredPlan,
} from '@tailrace/lake';
import type { ChannelState } from './channel-state.ts';

export interface SettlePorts {
  readonly runs: ReplayRuns;
  readonly state: ChannelState;
  publish(records: readonly OutgoingRecord[]): Promise<void>;
  nowMs(): number;
}

/** How a run stands. `sending`: it is, or was interrupted. */
export type Settled =
  | { readonly kind: 'over'; readonly receipt: Receipt }
  | { readonly kind: 'applying'; readonly report: SentReport; readonly left: number }
  | { readonly kind: 'sending' };

/** Looks how a run stands, by what `state` knows, and puts its receipt when everything that was sent was applied. */
export async function settleRun({ id, order, hasReceipt }: ReplayRun, plan: StoredPlan, ports: SettlePorts): Promise<Settled> {
  const { runs, state } = ports;
  const there = hasReceipt ? await runs.receipt(id) : undefined;
  if (there !== undefined) return { kind: 'over', receipt: there };
  const report = await runs.sent(id);
  if (report === undefined) return { kind: 'sending' };
  const made = makeReceipt(plan, { id, madeAtMs: order.madeAtMs }, report, state.channels, ports.nowMs());
  if (made === undefined) return { kind: 'applying', report, left: notApplied(report.partitions, state.channels, planMark(plan)) };
  const receipt = await runs.putReceipt(id, made);
  // Only now: until the receipt stands, the consumer keeps its counts for as long as it sees that the plan was sent.
  await ports.publish(state.tombstones(planMark(plan)));
  return { kind: 'over', receipt };
}
