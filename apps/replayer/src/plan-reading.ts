import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterAdmin, type KafkaSettings, TopicIdentity } from '@tailrace/kafka-kit';
import { archivedAt, chainText, Database, JoinedReader, KafkaReplayLog, LakeHistory, type Ledger, type ReplaySource } from '@tailrace/lake';
import { offsets } from './offsets.ts';
import type { Ports } from './ports.ts';
import { span } from './times.ts';

/** The archiver closes an object after ten minutes of records at the latest, and then has to put it. */
const PATIENCE_MS = 15 * 60_000;
const ASK_AGAIN_MS = 5000;

export interface ReadingPorts {
  readonly ledger: Ledger;
  readonly admin: ClusterAdmin;
  readonly settings: KafkaSettings;
  readonly source: ReplaySource | undefined;
  readonly ports: Ports;
}

/** Reads lake and Kafka joined while `work` runs. */
export async function withReading<T>(reading: ReadingPorts, work: (reader: JoinedReader) => Promise<T>): Promise<T> {
  const { ledger, admin, settings, source, ports } = reading;
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-replay-'));
  const identity = new TopicIdentity(settings);
  const database = await Database.open();
  try {
    return await work(
      new JoinedReader({
        history: new LakeHistory({ ledger, database, folder }),
        archived: archivedAt(ledger),
        log: new KafkaReplayLog(settings, admin, identity),
        only: source,
        nowMs: ports.nowMs,
        patienceMs: PATIENCE_MS,
        askAgainMs: ASK_AGAIN_MS,
        onWait: (chain, range) =>
          ports.note(
            `Of ${chainText(chain)}, ${offsets(range)} can not be had yet: they are not archived${source === 'lake' ? '' : ', and Kafka has deleted them'}. Waiting for the archiver, for ${span(PATIENCE_MS)} at most.\n`,
          ),
      }),
    );
  } finally {
    database.close();
    identity.close();
    await rm(folder, { recursive: true, force: true });
  }
}
