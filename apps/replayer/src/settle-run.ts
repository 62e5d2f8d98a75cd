import type { OutgoingRecord } from '@tailrace/kafka-kit';
import {
  canNotCome,
  makeReceipt,
  notApplied,
  planMark,
  type Receipt,
  type ReplayRun,
  type ReplayRuns,
  type SentReport,
  type SideExtents,
  type StoredPlan,
} from '@tailrace/lake';
import type { ChannelState } from './channel-state.ts';

export interface SettlePorts {
  readonly runs: Pick<ReplayRuns, 'receipt' | 'sent' | 'putReceipt'>;
  readonly state: Pick<ChannelState, 'channels' | 'tombstones'>;
  /** What Kafka says of these side topics now. */
  extents(sideTopics: readonly string[]): Promise<SideExtents>;
  publish(records: readonly OutgoingRecord[]): Promise<void>;
  nowMs(): number;
}

/** How a run stands. `sending`: it is, or was interrupted. `isStuck`: something of what is left can not come any more. */
export type Settled =
  | { readonly kind: 'over'; readonly receipt: Receipt }
  | { readonly kind: 'applying'; readonly report: SentReport; readonly left: number; readonly isStuck: boolean }
  | { readonly kind: 'sending'; readonly isCancelled: boolean };

/**
 * Looks how a run stands, by what `state` knows, and puts its receipt when everything that was sent was applied. Of a run that was cancelled also when
 * what is not applied can not come any more.
 */
export async function settleRun(run: ReplayRun, plan: StoredPlan, ports: SettlePorts): Promise<Settled> {
  const { id, order, hasReceipt, isCancelled } = run;
  const { runs, state } = ports;
  const there = hasReceipt ? await runs.receipt(id) : undefined;
  if (there !== undefined) return { kind: 'over', receipt: there };
  const report = await runs.sent(id);
  if (report === undefined) return { kind: 'sending', isCancelled };
  const make = (now?: SideExtents) => makeReceipt(plan, { id, madeAtMs: order.madeAtMs }, report, state.channels, ports.nowMs(), now);
  let made = make();
  let isStuck = false;
  if (made === undefined) {
    const now = await ports.extents(report.partitions.map(({ sideTopic }) => sideTopic));
    isStuck = canNotCome(report, state.channels, now);
    // Only then: somebody has to say that it is not to be waited for. What the consumer holds in memory may be applied yet.
    if (isCancelled) made = make(now);
  }
  if (made === undefined) return { kind: 'applying', report, left: notApplied(report.partitions, state.channels, planMark(plan)), isStuck };
  const receipt = await runs.putReceipt(id, made);
  // Only now: until the receipt stands, the consumer keeps its counts for as long as it sees that the plan was sent.
  await ports.publish(state.tombstones(planMark(plan)));
  return { kind: 'over', receipt };
}
