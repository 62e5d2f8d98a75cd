import type { Backoff } from '@tailrace/kafka-kit';
import type { Database, RepairPorts } from '@tailrace/lake';
import type { ArchiveEvent } from './archive-events.ts';
import type { Spool } from './spool.ts';
import type { SpoolRoom } from './spool-room.ts';
import type { TopicLife } from './topic-life.ts';
import type { Turn } from './turn.ts';
import type { ConfirmVoids } from './void-reader.ts';

/** What the parts of the archiver share. */
export interface ArchivePorts extends TopicLife {
  readonly repair: RepairPorts;
  readonly database: Database;
  readonly spool: Spool;
  readonly room: SpoolRoom;
  /** One file is built at a time: it takes a core and DuckDB's memory limit. */
  readonly building: Turn;
  readonly confirmVoids: ConfirmVoids;
  readonly backoff: Backoff;
  readonly observe: (event: ArchiveEvent) => void;
}
