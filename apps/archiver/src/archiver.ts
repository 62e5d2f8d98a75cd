import { groupNamed, streams } from '@tailrace/events';
import {
  createConsumerRuntime,
  createNativeConsumer,
  DEFAULT_BACKOFF,
  type RuntimeEvent,
  systemClock,
  TopicIdentity,
} from '@tailrace/kafka-kit';
import { type ChainId, type Database, Ledger, lakeLayout, type ObjectStore, objectMaker, STREAM } from '@tailrace/lake';
import type { ArchiveEvent } from './archive-events.ts';
import { ArchiveSink } from './archive-sink.ts';
import type { ArchiverConfig } from './config.ts';
import { logRangeReader, logStartReader } from './log-range-reader.ts';
import { ROTATION } from './rotation.ts';
import type { Spool } from './spool.ts';
import { SpoolRoom } from './spool-room.ts';
import { isOver, type TopicLife } from './topic-life.ts';
import { Turn } from './turn.ts';
import { voidReader } from './void-reader.ts';

export const GROUP = groupNamed('archiver');

const MIB = 1024 * 1024;
const LOOKUP_TIMEOUT_MS = 10_000;
export const MAX_POLL_INTERVAL_MS = 300_000;
/** A changed topic id is believed when it is still there after so long. */
const DISBELIEF_MS = 10_000;
/** Batches of one partition that may wait for their object. They are in the spool, so only their number is bounded here. */
const BATCHES_IN_FLIGHT = 100_000;
/** Kept of the time for a stop for what comes behind the runtime. */
const STOP_RESERVE_SHARE = 0.2;

export interface ArchiverPorts {
  readonly store: ObjectStore;
  readonly database: Database;
  readonly spool: Spool;
  readonly observeArchive: (event: ArchiveEvent) => void;
  readonly observeRuntime: (event: RuntimeEvent) => void;
}

/** Which topics are read, as which group. */
export interface Membership {
  readonly group: string;
  readonly topics: readonly string[];
}

const MEMBERSHIP: Membership = { group: GROUP.name, topics: streams[STREAM] ?? [] };

/** The archiver's sink and the group member that feeds it; nothing happens before `runtime.start()`. `close` ends what is beside them. */
export function createArchiver(config: ArchiverConfig, ports: ArchiverPorts, { group, topics }: Membership = MEMBERSHIP) {
  const kafka = { ...config.kafka, clientId: GROUP.name };
  const { store, database, spool } = ports;
  const identity = new TopicIdentity(kafka);
  const consumer = (name: string) =>
    createNativeConsumer(kafka, { group: name, protocol: { kind: 'consumer' }, maxPollIntervalMs: MAX_POLL_INTERVAL_MS });
  const life: TopicLife = {
    incarnation: (topic) => identity.lookUp(topic, LOOKUP_TIMEOUT_MS),
    clock: systemClock,
    disbeliefMs: DISBELIEF_MS,
  };
  const log = { connect: () => consumer(`${group}.repair`), isOver: (chain: ChainId) => isOver(life, chain) };
  const sink = new ArchiveSink(
    {
      repair: {
        ledger: new Ledger(store, lakeLayout(config.s3)),
        readLog: logRangeReader(log),
        logStart: logStartReader(log),
        makeObject: objectMaker(database, spool.folder),
      },
      database,
      spool,
      room: new SpoolRoom(config.maxSpoolMb * MIB, { folder: config.dataFolder, freeBytes: () => spool.freeBytes() }),
      building: new Turn(),
      confirmVoids: voidReader(log),
      ...life,
      backoff: DEFAULT_BACKOFF,
      observe: ports.observeArchive,
    },
    { rotation: { ...ROTATION, maxRecordTimeMs: config.maxRecordTimeMs }, idleMs: config.idleMs },
  );
  const stopMs = Math.floor(config.service.stopTimeoutMs * (1 - STOP_RESERVE_SHARE));
  const runtime = createConsumerRuntime(
    {
      group,
      topics,
      sink,
      start: GROUP.start,
      gaps: { kind: GROUP.gapPolicy },
      // Small enough that taking one in keeps the event loop for a few tens of milliseconds at most.
      batch: { maxRecords: 1_000, maxBytes: MIB, maxAgeMs: 500 },
      inFlightPerLane: BATCHES_IN_FLIGHT,
      buffer: { pauseAtBytes: 64 * MIB, resumeAtBytes: 32 * MIB },
      backoff: DEFAULT_BACKOFF,
      drain: { revokeMs: Math.min(20_000, stopMs), stopMs },
    },
    { broker: consumer(group), clock: systemClock, observe: ports.observeRuntime },
  );
  return { sink, runtime, close: () => identity.close() };
}
