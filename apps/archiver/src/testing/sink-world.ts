import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Batch, type Lane, systemClock } from '@tailrace/kafka-kit';
import {
  type ChainId,
  Database,
  fetchObjects,
  type LakeLayout,
  type LakeRecord,
  Ledger,
  type LogRange,
  listDataObjects,
  objectMaker,
  readParquet,
} from '@tailrace/lake';
import { footerOf, MemoryStore } from '@tailrace/lake/testing';
import type { ArchiveEvent } from '../archive-events.ts';
import { ArchiveSink } from '../archive-sink.ts';
import { ROTATION, type RotationLimits } from '../rotation.ts';
import { Spool } from '../spool.ts';
import { SpoolRoom } from '../spool-room.ts';
import { isOver, type TopicLife } from '../topic-life.ts';
import { Turn } from '../turn.ts';
import type { ConfirmVoids } from '../void-reader.ts';

export const LAKE: LakeLayout = { prefix: 'lake', stream: 'service-events' };
export const CHAIN: ChainId = { topic: 'service-events', incarnation: 'aB-_9xYz', partition: 3 };
export const NINE = Date.UTC(2026, 0, 2, 9, 15);

/** The records `[first, next)` of the test's log: each a function of its offset. */
export function logRecords(first: number, next: number, timeOf: (offset: number) => number = () => NINE): LakeRecord[] {
  return Array.from({ length: Math.max(0, next - first) }, (_, i) => {
    const offset = first + i;
    const value = offset % 7 === 3 ? 'not json' : JSON.stringify({ service: `s${offset % 3}`, latency_ms: offset });
    return { offset, timestampMs: timeOf(offset), key: Buffer.from(`k${offset}`), value: Buffer.from(value), headers: [] };
  });
}

/** A batch of these records; says whether it was released. */
export function batchOf(records: readonly LakeRecord[], chain: ChainId = CHAIN): Batch & { readonly released: boolean } {
  let released = false;
  const at = (i: number): LakeRecord => records[i] as LakeRecord;
  return {
    source: chain,
    length: records.length,
    bytes: 0,
    closedBy: 'records',
    offset: (i) => at(i).offset,
    timestampMs: (i) => at(i).timestampMs,
    key: (i) => at(i).key,
    value: (i) => at(i).value,
    headers: (i) => at(i).headers,
    origin: (i) => ({ ...chain, offset: at(i).offset, timestampMs: at(i).timestampMs }),
    notes: () => [],
    release: () => {
      released = true;
    },
    get released() {
      return released;
    },
  };
}

export const laneOf = (more: Partial<Lane> = {}): Lane => ({ ...CHAIN, committed: null, logStart: 0, logEnd: 1_000_000, ...more });

export interface WorldOptions {
  readonly store?: MemoryStore;
  readonly rotation?: Partial<RotationLimits>;
  readonly idleMs?: number;
  readonly maxSpoolBytes?: number;
  /** Of the disk below the spool. */
  readonly freeBytes?: () => Promise<number>;
  /** What a second reader finds in voids. */
  readonly confirmVoids?: ConfirmVoids;
  readonly incarnation?: (topic: string) => Promise<string | undefined>;
  /** Where the log that a repair reads begins. */
  readonly logStart?: () => number;
  readonly timeOf?: (offset: number) => number;
  /** Offsets of the log that hold no record. */
  readonly isVoid?: (offset: number) => boolean;
}

/** An archive sink over a store in memory and a real Parquet writer, with a log that can be read again. */
export class SinkWorld {
  readonly store: MemoryStore;
  readonly ledger: Ledger;
  readonly database: Database;
  readonly spool: Spool;
  readonly sink: ArchiveSink;
  readonly events: ArchiveEvent[] = [];
  readonly #dataFolder: string;

  private constructor(options: WorldOptions, database: Database, spool: Spool, dataFolder: string) {
    this.store = options.store ?? new MemoryStore();
    this.ledger = new Ledger(this.store, LAKE);
    this.database = database;
    this.spool = spool;
    this.#dataFolder = dataFolder;
    const life: TopicLife = { incarnation: options.incarnation ?? (async () => CHAIN.incarnation), clock: systemClock, disbeliefMs: 5 };
    const readLog = async (chain: ChainId, first: number, next: number): Promise<LogRange> => {
      if (await isOver(life, chain)) return { kind: 'nothing-left' };
      const from = Math.max(first, options.logStart?.() ?? 0);
      if (from >= next) return { kind: 'nothing-left' };
      const records = async function* () {
        yield logRecords(from, next, options.timeOf).filter(({ offset }) => options.isVoid?.(offset) !== true);
      };
      return { kind: 'records', from, records: records() };
    };
    this.sink = new ArchiveSink(
      {
        repair: {
          ledger: this.ledger,
          readLog,
          makeObject: objectMaker(database, spool.folder),
          logStart: async (chain) => ((await isOver(life, chain)) ? undefined : (options.logStart?.() ?? 0)),
        },
        database,
        spool,
        room: new SpoolRoom(options.maxSpoolBytes ?? 2 ** 40, {
          folder: '/data/spool',
          freeBytes: options.freeBytes ?? (async () => 2 ** 40),
        }),
        building: new Turn(),
        confirmVoids: options.confirmVoids ?? (async () => undefined),
        ...life,
        backoff: { firstMs: 1, factor: 1.5, maxMs: 10, jitter: 0 },
        observe: (event) => this.events.push(event),
      },
      { rotation: { ...ROTATION, ...options.rotation }, idleMs: options.idleMs ?? 30 },
    );
  }

  static async open(options: WorldOptions = {}): Promise<SinkWorld> {
    const dataFolder = await mkdtemp(join(tmpdir(), 'tailrace-archiver-'));
    return new SinkWorld(options, await Database.open(), await Spool.open(dataFolder), dataFolder);
  }

  seen(kind: ArchiveEvent['kind']): ArchiveEvent[] {
    return this.events.filter((event) => event.kind === kind);
  }

  /** Files that lie in the spool. */
  async spooled(): Promise<string[]> {
    return await readdir(this.spool.folder);
  }

  /** Every record in the lake, object by object in the order of their keys' offsets. */
  async archived(): Promise<LakeRecord[][]> {
    const folder = await mkdtemp(join(tmpdir(), 'tailrace-archived-'));
    try {
      const objects = [...(await listDataObjects(this.store, LAKE))].sort((a, b) => (a.key.slice(-28) < b.key.slice(-28) ? -1 : 1));
      const files = await fetchObjects(this.store, objects, folder);
      const all: LakeRecord[][] = [];
      for (const file of files) {
        const rows: LakeRecord[] = [];
        for await (const batch of readParquet(this.database, file, (await footerOf(file)).description)) rows.push(...batch);
        all.push(rows);
      }
      return all;
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  async close(): Promise<void> {
    await this.sink.close();
    this.database.close();
    await rm(this.#dataFolder, { recursive: true });
  }
}
