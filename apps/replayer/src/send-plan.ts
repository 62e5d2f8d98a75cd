import { DEFAULT_BACKOFF } from '@tailrace/kafka-kit';
import { planMark, type ReplayRun, type ReplaySource, type StoredPlan } from '@tailrace/lake';
import type { ReplayerConfig } from './config.ts';
import { sumOf } from './dry-run.ts';
import { Governor } from './governor.ts';
import type { LiveGuard } from './live-guard.ts';
import { total } from './offsets.ts';
import { withReading } from './plan-reading.ts';
import { PlanSender } from './plan-sender.ts';
import type { Ports } from './ports.ts';
import { type Progress, progressOn } from './progress.ts';
import { KafkaReplayChannel } from './replay-channel.ts';
import type { ReplaySession } from './replay-session.ts';
import type { Stored } from './servers.ts';
import { wantedBy } from './wanted.ts';

/** One call of the publisher: large enough that its acknowledgement costs little, and small beside its bound. */
const CHUNK_RECORDS = 1000;
const CHUNK_BYTES = 512 * 1024;
const DRAW_MS = 200;

export interface SendWork {
  readonly plan: StoredPlan;
  readonly run: ReplayRun;
  readonly flags: { readonly source?: ReplaySource; readonly rate?: number; readonly maxUnread: number };
  readonly config: ReplayerConfig;
  readonly stored: Stored;
  readonly session: ReplaySession;
  readonly ports: Ports;
  readonly guard: LiveGuard;
}

/** Sends a plan, or what is left of it, and puts down that it is sent. Throws when it was interrupted, or can not go on. */
export async function sendPlan(work: SendWork): Promise<void> {
  const { plan, stored, session, flags, ports } = work;
  const { settings, admin } = session;
  const channel = await KafkaReplayChannel.open(plan.into, settings, admin, plan.partitions);
  try {
    await withReading({ ledger: stored.ledger, admin, settings, source: flags.source, ports }, async (reader) => {
      const progress = progressOn(ports, total(plan.partitions.flatMap(({ ranges }) => ranges)));
      try {
        await sendThrough(work, channel, reader.read.bind(reader), progress);
      } finally {
        progress.stop();
      }
    });
  } finally {
    await channel.close();
  }
}

type Read = Parameters<typeof PlanSender.open>[1]['read'];

async function sendThrough(work: SendWork, channel: KafkaReplayChannel, read: Read, progress: Progress): Promise<void> {
  const { plan, run, flags, session, ports, guard } = work;
  const { runs, state } = session;
  const bytesPerSecond = flags.rate ?? Number.POSITIVE_INFINITY;
  const note = (sentence: string): void => progress.note(sentence);
  let sender: PlanSender | undefined;
  const governor = new Governor(
    {
      unread: async () => {
        await state.refresh();
        return await channel.unread(state.channels);
      },
      isRead: () => channel.isRead(),
      isCancelled: () => runs.isCancelled(run.id),
      save: async () => {
        await sender?.save();
      },
      guard,
      note,
      nowMs: ports.nowMs,
    },
    { maxUnread: flags.maxUnread, bytesPerSecond, consumer: plan.into },
    ports.signal,
  );
  await state.refresh();
  sender = await PlanSender.open(
    plan,
    {
      channel,
      sent: (topic, partition) => state.sent(planMark(plan), topic, partition),
      positionsTopic: ports.positionsTopic,
      backoff: DEFAULT_BACKOFF,
      read,
      isWanted: wantedBy(plan),
      admit: (records, bytes) => governor.admit(records, bytes),
      chunk: { records: Math.min(CHUNK_RECORDS, flags.maxUnread), bytes: Math.min(CHUNK_BYTES, bytesPerSecond / 4) },
      onPublished: (records) => governor.acknowledged(records),
      note,
      nowMs: ports.nowMs,
    },
    ports.signal,
  );
  if (sender.resumed) note(`Plan ${plan.id} was begun before: it goes on behind what stands in the side channel.`);
  const until = new AbortController();
  const looking = governor.run(until.signal);
  const { partitions } = sender;
  const drawing = setInterval(() => progress.update(sumOf(partitions)), DRAW_MS);
  try {
    await runs.putSent(run.id, await sender.run());
  } catch (fault) {
    // How far it got is found out by the next run all the same, from the side channel: this spares it the reading.
    await sender.save().catch(() => {});
    throw fault;
  } finally {
    clearInterval(drawing);
    until.abort();
    await looking;
  }
}
