import { chainText, type InParts, type Repair } from '@tailrace/lake';
import type { Logger } from '@tailrace/service';
import type { ArchiveEvent } from './archive-events.ts';
import { firstLine } from './first-line.ts';

/** Offsets that a log line names at most. */
const TOLD_OFFSETS = 20;

/** Turns the archiver's events into log lines. What is lost, or may be, is an error; what passes by itself is a warning. */
export function archiveLog(log: Logger): (event: ArchiveEvent) => void {
  const short = new Set<string>();
  return (event) => {
    const where = chainText(event.chain);
    switch (event.kind) {
      case 'chain-opened':
        log.info({ ...event.chain, end: event.end }, `the chain of ${where} goes on at offset ${event.end}`);
        return;
      case 'object-closed':
        log.debug({ ...event.chain, cause: event.cause, rows: event.rows }, `an object of ${where} is closed (${event.cause})`);
        return;
      case 'object-stored': {
        const { key, first, next, rows, sizeBytes, tookMs } = event;
        log.info({ key, first, next, rows, sizeBytes, tookMs }, `offsets ${first} to ${next - 1} of ${where} are in the lake`);
        return;
      }
      case 'claim-met':
        log.warn(
          { ...event.chain, first: event.first, next: event.next },
          `another archiver had claimed offsets ${event.first} to ${event.next - 1} of ${where}`,
        );
        return;
      case 'claim-checked':
        claimChecked(log, where, event, event.repair);
        return;
      case 'void-declared': {
        const { first, next } = event;
        log.info({ ...event.chain, first, next }, `offsets ${first} to ${next - 1} of ${where} hold no record, and the lake says so`);
        return;
      }
      case 'loss-declared': {
        const { first, next } = event;
        log.error(
          { ...event.chain, first, next, lost: next - first },
          `RECORDS ARE LOST: offsets ${first} to ${next - 1} of ${where} were gone from Kafka before they were archived; the ledger says so, and the archive goes on behind them`,
        );
        return;
      }
      case 'topic-made-anew': {
        const { end, cutRows } = event;
        log.error(
          { ...event.chain, end, cutRows },
          `RECORDS ARE LOST: the topic of ${where} was deleted and made anew; up to offset ${end} the old one is in the lake, and what it held behind that is gone. ${cutRows} rows that had been read were cut off, because they may be the new topic's`,
        );
        return;
      }
      case 'built-in-parts':
        builtInParts(log, where, event, event.how);
        return;
      case 'step-failed':
        // For hours with a store that is away, on many partitions: the 1st, 2nd, 4th, 8th … attempt is told.
        if (!Number.isInteger(Math.log2(event.attempts))) return;
        log.warn(
          { ...event.chain, step: event.step, attempts: event.attempts, err: event.cause },
          `${where}: to ${event.step} failed and is tried again (attempt ${event.attempts}): ${text(event.cause)}`,
        );
        return;
      case 'disk-short':
        // One disk for all partitions: the first that waits tells it, and the last that goes on.
        if (short.size === 0)
          log.warn({ ...event.chain }, `${where} and all others take in nothing until there is room: ${event.sentence}`);
        short.add(where);
        return;
      case 'disk-enough':
        short.delete(where);
        if (short.size === 0) log.info({ ...event.chain }, 'the disk has room again: records are taken in');
        return;
      case 'abandoned':
        log.info(
          { ...event.chain, rows: event.rows },
          `${event.rows} open rows of ${where} are given up, and read from Kafka again where it still has them: ${event.cause.message}`,
        );
        return;
      case 'cleanup-failed':
        log.warn(
          { ...event.chain, err: event.cause },
          `files of ${where} could not be deleted, and stay until the next start: ${text(event.cause)}`,
        );
        return;
    }
  };
}

function claimChecked(
  log: Logger,
  where: string,
  { first, next }: { readonly first: number; readonly next: number },
  repair: Repair,
): void {
  const range = `offsets ${first} to ${next - 1} of ${where}`;
  switch (repair.kind) {
    case 'stands':
      return;
    case 'made':
      log.warn({ first, next }, `the object for ${range} was claimed and missing; it was made from Kafka`);
      return;
    case 'rest':
      log.error(
        { first, next, from: repair.from },
        `RECORDS ARE LOST: of ${range} Kafka holds only those from ${repair.from} on; the object has those`,
      );
      return;
    case 'changed':
      log.error(
        { first, next },
        `RECORDS ARE LOST: Kafka now holds other records at ${range} than were claimed; the object has those that Kafka holds`,
      );
      return;
    case 'lost':
      log.error({ first, next }, `RECORDS ARE LOST: ${range} were claimed and never written, and Kafka holds none of them any more`);
      return;
  }
}

function builtInParts(
  log: Logger,
  where: string,
  { first, next }: { readonly first: number; readonly next: number },
  { parts, untyped, cause }: InParts,
): void {
  const kept =
    untyped.length === 0
      ? ''
      : `; ${untyped.length} of them could not be looked into and have only their bytes (the first is ${untyped[0]})`;
  log.warn(
    { first, next, parts, untyped: untyped.slice(0, TOLD_OFFSETS), err: cause },
    `offsets ${first} to ${next - 1} of ${where} could not be written at once, and were in ${parts} parts${kept}: ${text(cause)}`,
  );
}

function text(cause: unknown): string {
  return firstLine(cause);
}
