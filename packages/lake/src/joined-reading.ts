import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterAdmin, type KafkaSettings, TopicIdentity } from '@tailrace/kafka-kit';
import { archivedAt } from './archived-at.ts';
import { Database } from './duckdb.ts';
import { JoinedReader, type JoinedSources, type ReplaySource } from './joined-reader.ts';
import { LakeHistory } from './lake-history.ts';
import type { Ledger } from './ledger.ts';
import { KafkaReplayLog } from './replay-log.ts';

/** The archiver closes an object after ten minutes of records at the latest, and then has to put it. */
export const ARCHIVE_PATIENCE_MS = 15 * 60_000;
const ASK_AGAIN_MS = 5000;

export interface JoinedReading {
  readonly ledger: Ledger;
  readonly admin: ClusterAdmin;
  readonly settings: KafkaSettings;
  /** Reads from there alone. */
  readonly only?: ReplaySource | undefined;
  nowMs(): number;
  readonly onWait: JoinedSources['onWait'];
}

/** Reads lake and Kafka joined while `work` runs. No group is joined, and nothing is committed. */
export async function withJoinedReader<T>(reading: JoinedReading, work: (reader: JoinedReader) => Promise<T>): Promise<T> {
  const { ledger, admin, settings, only, nowMs, onWait } = reading;
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-replay-'));
  const identity = new TopicIdentity(settings);
  const database = await Database.open();
  try {
    return await work(
      new JoinedReader({
        history: new LakeHistory({ ledger, database, folder }),
        archived: archivedAt(ledger),
        log: new KafkaReplayLog(settings, admin, identity),
        only,
        nowMs,
        patienceMs: ARCHIVE_PATIENCE_MS,
        askAgainMs: ASK_AGAIN_MS,
        onWait,
      }),
    );
  } finally {
    database.close();
    identity.close();
    await rm(folder, { recursive: true, force: true });
  }
}
