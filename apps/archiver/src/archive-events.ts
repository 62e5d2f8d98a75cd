import type { ChainId, InParts, Repair } from '@tailrace/lake';
import type { RotationCause } from './rotation.ts';

/** Everything worth telling that happens in the archiver. Logs and metrics are derived from these, and from nothing else. */
export type ArchiveEvent =
  | { readonly kind: 'chain-opened'; readonly chain: ChainId; readonly end: number }
  /** A claim's object was looked for and, where it was missing, made. */
  | { readonly kind: 'claim-checked'; readonly chain: ChainId; readonly first: number; readonly next: number; readonly repair: Repair }
  /** Another archiver had extended the chain first: nothing of ours was written at that position. */
  | { readonly kind: 'claim-met'; readonly chain: ChainId; readonly first: number; readonly next: number }
  | { readonly kind: 'object-closed'; readonly chain: ChainId; readonly cause: RotationCause; readonly rows: number }
  | {
      readonly kind: 'object-stored';
      readonly chain: ChainId;
      readonly key: string;
      readonly first: number;
      readonly next: number;
      readonly rows: number;
      readonly sizeBytes: number;
      readonly rawBytes: number;
      readonly tookMs: number;
    }
  /** Offsets that hold no readable record (markers of a transaction) are in the chain as such. */
  | { readonly kind: 'void-declared'; readonly chain: ChainId; readonly first: number; readonly next: number }
  /** Offsets that were gone from the log before they were archived are in the chain as such: the highest alarm. */
  | { readonly kind: 'loss-declared'; readonly chain: ChainId; readonly first: number; readonly next: number }
  /**
   * The topic is another one with the same name. Of the old one everything below `end` is in the lake or declared, and nothing more can
   * be; `cutRows` had been taken in, and may have been the new one's.
   */
  | { readonly kind: 'topic-made-anew'; readonly chain: ChainId; readonly end: number; readonly cutRows: number }
  /** The rows of an object could not be written at once; they stand in it all the same. */
  | { readonly kind: 'built-in-parts'; readonly chain: ChainId; readonly first: number; readonly next: number; readonly how: InParts }
  /** A step failed and is tried again, for as long as it takes. */
  | { readonly kind: 'step-failed'; readonly chain: ChainId; readonly step: Step; readonly attempts: number; readonly cause: unknown }
  /** The disk has no room for more rows: the partition takes in nothing until it has. */
  | { readonly kind: 'disk-short'; readonly chain: ChainId; readonly sentence: string }
  | { readonly kind: 'disk-enough'; readonly chain: ChainId }
  | { readonly kind: 'abandoned'; readonly chain: ChainId; readonly rows: number; readonly cause: Error }
  /** Files of a lane that ended could not be deleted: they stay until the next start. */
  | { readonly kind: 'cleanup-failed'; readonly chain: ChainId; readonly cause: unknown };

/** A step of making an object stand. */
export type Step =
  | 'build the file'
  | 'look up the topic'
  | 'read the void again'
  | 'look up the log’s start'
  | 'write to the store'
  | 'find room on the disk';

/** Events that say that the store step gets on. */
export const PROGRESS: ReadonlySet<ArchiveEvent['kind']> = new Set([
  'object-stored',
  'claim-met',
  'void-declared',
  'loss-declared',
  'topic-made-anew',
]);
