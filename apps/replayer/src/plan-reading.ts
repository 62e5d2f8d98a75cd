import type { ClusterAdmin, KafkaSettings } from '@tailrace/kafka-kit';
import { ARCHIVE_PATIENCE_MS, chainText, type JoinedReader, type Ledger, type ReplaySource, span, withJoinedReader } from '@tailrace/lake';
import { offsets } from './offsets.ts';
import type { Ports } from './ports.ts';

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
  return await withJoinedReader(
    {
      ledger,
      admin,
      settings,
      only: source,
      nowMs: ports.nowMs,
      onWait: (chain, range) =>
        ports.note(
          `Of ${chainText(chain)}, ${offsets(range)} can not be had yet: they are not archived${source === 'lake' ? '' : ', and Kafka has deleted them'}. Waiting for the archiver, for ${span(ARCHIVE_PATIENCE_MS)} at most.\n`,
        ),
    },
    work,
  );
}
