import type { ChainId } from '@tailrace/lake';

/** What people see of one partition. */
export interface LaneArchiveView extends ChainId {
  readonly chainEnd: number;
  readonly spooledRows: number;
  readonly spoolBytes: number;
  readonly waitingObjects: number;
  /** How long the oldest closed object has been waiting for the lake; 0 where none does. */
  readonly waitingMs: number;
  /** Why the store step does not get on, while it does not. */
  readonly problem: string | undefined;
}
