import { replayGroupName } from '@tailrace/events';
import type { ClusterAdmin, KafkaSettings, OutgoingRecord } from '@tailrace/kafka-kit';
import { connectPublisher, TopicIdentity } from '@tailrace/kafka-kit';
import { planMark, type ReplayRuns, type StoredPlan } from '@tailrace/lake';
import { ChannelState } from './channel-state.ts';
import type { ReplayerConfig } from './config.ts';
import type { Ports } from './ports.ts';
import { type Stored, withAdmin } from './servers.ts';
import { type Settled, settleRun } from './settle-run.ts';
import { sideExtents } from './side-extents.ts';

const MIB = 1024 * 1024;
const DEADLINE_MS = 30_000;
const CLOSE_MS = 5000;

/** What says how runs into one consumer stand. */
export interface ReplaySession {
  readonly runs: ReplayRuns;
  readonly state: ChannelState;
  readonly admin: ClusterAdmin;
  readonly settings: KafkaSettings;
  /** Looks anew, and puts the receipt when everything was applied. */
  settle(plan: StoredPlan): Promise<Settled | undefined>;
}

/** Works with the runs into a consumer, the newest words of that consumer at hand. */
export async function withReplays<T>(
  config: ReplayerConfig,
  ports: Ports,
  stored: Stored,
  consumer: string,
  work: (session: ReplaySession) => Promise<T>,
): Promise<T> {
  return await withAdmin(config, async (admin, settings) => {
    const runs = stored.runsInto(consumer);
    const group = replayGroupName(consumer);
    const state = new ChannelState({ settings, admin, positionsTopic: ports.positionsTopic, consumer, group });
    await state.refresh();
    // What a command left that died right behind a receipt.
    await publishOnce(
      settings,
      (await marksOver(stored, runs, state)).flatMap((mark) => state.tombstones(mark)),
    );
    const publish = (records: readonly OutgoingRecord[]): Promise<void> => publishOnce(settings, records);
    const identity = new TopicIdentity(settings);
    const extents = (topics: readonly string[]) => sideExtents({ admin, identity }, group, topics);
    const settle = async (plan: StoredPlan): Promise<Settled | undefined> => {
      const run = await runs.of(plan.id);
      if (run === undefined) return undefined;
      await state.refresh();
      return await settleRun(run, plan, { runs, state, extents, publish, nowMs: ports.nowMs });
    };
    try {
      return await work({ runs, state, admin, settings, settle });
    } finally {
      identity.close();
    }
  });
}

/** The marks of plans that senders still speak of though their receipts stand. What is none of this lake's plans is left alone. */
async function marksOver({ plans }: Stored, runs: ReplayRuns, { marks }: ChannelState): Promise<readonly string[]> {
  if (marks.size === 0) return [];
  const over: string[] = [];
  for (const { hasReceipt, order } of await runs.list()) {
    if (!hasReceipt || ![...marks].some((mark) => mark.startsWith(`${order.plan}-`))) continue;
    const plan = await plans.get(order.plan);
    if (plan !== undefined && marks.has(planMark(plan))) over.push(planMark(plan));
  }
  return over;
}

/** Few records, once in a while: a producer for them alone. */
async function publishOnce(settings: KafkaSettings, records: readonly OutgoingRecord[]): Promise<void> {
  if (records.length === 0) return;
  const publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: MIB, log: () => {} });
  try {
    const fates = await publisher.publish(records, { deadlineMs: DEADLINE_MS });
    for (const fate of fates) if (fate.kind !== 'acknowledged') throw new Error(`Kafka did not take a record: ${fate.reason}.`);
  } finally {
    await publisher.close(CLOSE_MS);
  }
}
