import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { type Backoff, backoffMs, type Clock } from '@tailrace/kafka-kit';
import {
  type BuiltObject,
  buildObject,
  type ChainId,
  type Database,
  dataEntry,
  declareVoid,
  type Extended,
  extendChain,
  isOfTheMoment,
  type OffsetRange,
  type RepairPorts,
  type RowFile,
} from '@tailrace/lake';
import type { ArchiveEvent, Step } from './archive-events.ts';
import { Abandoned, NotVoid, SpoolLost, TopicMadeAnew } from './faults.ts';
import { firstLine } from './first-line.ts';
import type { Spool } from './spool.ts';
import type { Turn } from './turn.ts';

/** What the parts of the archiver share. */
export interface ArchivePorts {
  readonly repair: RepairPorts;
  readonly database: Database;
  readonly spool: Spool;
  /** One file is built at a time: it takes a core and DuckDB's memory limit. */
  readonly building: Turn;
  /** The topic's present incarnation, by a look-up begun after the call; undefined where there is no such topic. */
  readonly incarnation: (topic: string) => Promise<string | undefined>;
  /** Reads the range once more, with a client of its own. Rejects with NotVoid where a record lies in it. */
  readonly confirmVoid: (chain: ChainId, range: OffsetRange) => Promise<void>;
  readonly clock: Clock;
  readonly backoff: Backoff;
  /** How long a topic's changed id must last before it is believed. */
  readonly disbeliefMs: number;
  readonly observe: (event: ArchiveEvent) => void;
}

/** On its way into the lake: rows `[first, next)` of a file, or offsets that hold none where `file` is undefined. */
export interface ClosedObject extends OffsetRange {
  readonly file: RowFile;
}

export interface ClosedVoid extends OffsetRange {
  readonly file: undefined;
}

/** How far one object has come, and whether it is still wanted. */
export interface Progress {
  /** The claim is ours: the object must follow it, also when the lane is given up. */
  claimed: boolean;
  /** Aborted when the lane is given up: then nothing new is claimed. */
  readonly unclaimed: AbortSignal;
  /** Aborted when nobody waits any more, not even for the object of a claim. */
  readonly all: AbortSignal;
}

/**
 * Makes the rows of a closed object stand in the lake, in the order of the design: Parquet file, second reader, topic id, claim,
 * object. Where somebody else extended the chain first, only the rows behind that are written. `end` is the chain's end; returns the
 * new one. Every fault of the moment is tried again for as long as it takes. Throws Abandoned when it is not wanted any more, SpoolLost
 * and TopicMadeAnew.
 */
export async function storeObject(
  ports: ArchivePorts,
  chain: ChainId,
  object: ClosedObject,
  end: number,
  progress: Progress,
): Promise<number> {
  const { observe } = ports;
  let at = end;
  while (at < object.next) {
    const range = { first: Math.max(object.first, at), next: object.next };
    const path = ports.spool.parquetPath();
    const startedMs = ports.clock.nowMs();
    progress.claimed = false;
    try {
      const built = await again(ports, chain, 'build the file', progress, () =>
        ports.building.run(() => buildFrom(ports.database, chain, { file: object.file, ...range }, path)),
      );
      if (built.inParts !== undefined) observe({ kind: 'built-in-parts', chain, ...range, how: built.inParts });
      await stillThatTopic(ports, chain, progress);
      const entry = dataEntry(ports.repair.ledger.lake, chain, range, built.totals, randomUUID());
      // Read for each attempt: twelve partitions that wait for a store must not hold twelve objects in memory.
      const extended = await again(ports, chain, 'write to the store', progress, async () =>
        extendChain(ports.repair, chain, entry, await readFile(path), () => {
          progress.claimed = true;
        }),
      );
      at = extended.end;
      if (wasMet(ports, chain, extended)) continue;
      const { rows } = built.totals;
      const tookMs = ports.clock.nowMs() - startedMs;
      observe({
        kind: 'object-stored',
        chain,
        key: entry.object,
        ...range,
        rows,
        sizeBytes: built.sizeBytes,
        rawBytes: object.file.rawBytes,
        tookMs,
      });
    } finally {
      // A build that failed has left no file.
      await rm(path, { force: true });
    }
  }
  return at;
}

/** Makes a void stand in the ledger, under the rules of `storeObject`: after a second reader has found no record in it. */
export async function storeVoid(ports: ArchivePorts, chain: ChainId, object: ClosedVoid, end: number, progress: Progress): Promise<number> {
  let at = end;
  while (at < object.next) {
    const range = { first: Math.max(object.first, at), next: object.next };
    await again(ports, chain, 'read the void again', progress, () => ports.confirmVoid(chain, range));
    await stillThatTopic(ports, chain, progress);
    const entry = { kind: 'void', ...range, attempt: randomUUID() } as const;
    const extended = await again(ports, chain, 'write to the store', progress, () => declareVoid(ports.repair, chain, entry));
    at = extended.end;
    if (!wasMet(ports, chain, extended)) ports.observe({ kind: 'void-declared', chain, ...range });
  }
  return at;
}

/** Whether somebody else extended the chain first; tells it. */
function wasMet({ observe }: ArchivePorts, chain: ChainId, { met }: Extended): boolean {
  if (met === undefined) return false;
  const { first, next } = met.entry;
  observe({ kind: 'claim-met', chain, first, next });
  observe({ kind: 'claim-checked', chain, first, next, repair: met.repair });
  return true;
}

/** Builds the file. Throws SpoolLost where no further attempt can: the rows are gone, damaged, or such that no file can be made of them. */
async function buildFrom(database: Database, chain: ChainId, rows: ClosedObject, path: string): Promise<BuiltObject> {
  try {
    return await buildObject(database, chain, rows, path);
  } catch (cause) {
    const fault = cause instanceof Error ? cause : new Error(String(cause));
    if (!(await rows.file.isWhole())) throw new SpoolLost(chain, rows, 'their file is gone or has another size');
    if (!isOfTheMoment(fault)) throw new SpoolLost(chain, rows, firstLine(fault));
    throw fault;
  }
}

/** Faults that no further attempt can mend: the lane is given up. */
const FINAL = [TopicMadeAnew, SpoolLost, NotVoid] as const;

/** Runs a step until it succeeds. */
async function again<T>(ports: ArchivePorts, chain: ChainId, step: Step, progress: Progress, work: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    const wanted = progress.claimed ? progress.all : progress.unclaimed;
    if (wanted.aborted)
      throw new Abandoned(chain, progress.claimed ? 'the time to write a claimed object is over' : 'they were not claimed yet');
    try {
      return await work();
    } catch (cause) {
      if (FINAL.some((fault) => cause instanceof fault)) throw cause;
      ports.observe({ kind: 'step-failed', chain, step, attempts, cause });
    }
    await ports.clock.sleep(backoffMs(ports.backoff, attempts - 1), progress.claimed ? progress.all : progress.unclaimed);
  }
}

/** What was delivered may be the records of a new topic with the old name. A changed id is believed when a second look-up agrees. */
async function stillThatTopic(ports: ArchivePorts, chain: ChainId, progress: Progress): Promise<void> {
  const lookUp = () => again(ports, chain, 'look up the topic', progress, () => ports.incarnation(chain.topic));
  if ((await lookUp()) === chain.incarnation) return;
  await ports.clock.sleep(ports.disbeliefMs, progress.unclaimed);
  const present = await lookUp();
  if (present !== chain.incarnation) throw new TopicMadeAnew(chain, present);
}
