import { MemoryHistory } from './memory-history.ts';
import { GROUP, kinds, type Member, RuntimeRig } from './runtime-rig.ts';

/** A rig whose members read from a history what Kafka no longer holds. */
export class RestoreRig extends RuntimeRig {
  readonly kept = new MemoryHistory(this.clock);

  constructor(partitions = 1, settings: ConstructorParameters<typeof RuntimeRig>[1] = {}) {
    super(partitions, { gaps: { kind: 'restore' }, ...settings });
    this.history = this.kept;
  }

  log(partition = 0) {
    return this.cluster.log(this.tp(partition));
  }

  /** A log of `count` records of which the history has those below `kept`, and Kafka those from `start` on; the group stands at `at`. */
  overtaken(count: number, { at = 0, kept = count, start = count } = {}, partition = 0): void {
    this.append(count, partition);
    this.kept.archive(this.log(partition), kept);
    this.log(partition).deleteBefore(start);
    this.cluster.group(GROUP).setCommitted({ ...this.tp(partition), nextToRead: at });
  }
}

/** What a member told of its gaps and how it restored them, in words. */
export function restoresOf(member: Member): string[] {
  return kinds(member.events, 'gap', 'restore-passed', 'restore-waits', 'restore-ended').map((event) => {
    switch (event.kind) {
      case 'gap':
        return `${event.gap.kind} ${event.gap.from}-${event.gap.to} ${event.done}`;
      case 'restore-passed':
        return `passed ${event.from}-${event.to} ${event.why}`;
      case 'restore-waits':
        return `waits ${event.from}-${event.to}`;
      case 'restore-ended':
        return `ended ${event.from}-${event.to} records ${event.records} passed ${event.passedOffsets}`;
      default:
        return event.kind;
    }
  });
}

export const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
