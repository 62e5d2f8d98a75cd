import type { ChainId } from '@tailrace/lake';
import type { Step } from './archive-events.ts';

/** What people see of one partition. */
export interface LaneArchiveView extends ChainId {
  readonly chainEnd: number;
  readonly spooledRows: number;
  readonly spoolBytes: number;
  readonly waitingObjects: number;
  /** How long the oldest closed object has been waiting for the lake; 0 where none does. */
  readonly waitingMs: number;
  /** The step that is under way, and for how long its present attempt has been; undefined where none is. */
  readonly attempt: { readonly step: Step; readonly forMs: number } | undefined;
  /** Why the store step does not get on, while it does not, and which part of it failed last. */
  readonly problem: string | undefined;
  readonly failedStep: Step | undefined;
}

/** A partition that can take in nothing yet. */
export interface LaneOpening {
  readonly topic: string;
  readonly partition: number;
  readonly forMs: number;
}
