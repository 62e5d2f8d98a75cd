import type { MemberView } from '../admin/group-view.ts';
import type { Clock } from '../time/clock.ts';
import type { ClientLogLine } from './broker-consumer.ts';

export interface AssignmentPorts {
  /** Every member of the group, as the coordinator sees it now. */
  readonly members: () => Promise<readonly MemberView[]>;
  /** What the client owns now; undefined while it is giving partitions back. */
  readonly owned: () => ReadonlySet<string> | undefined;
  /** Leaves the group and joins it again. */
  readonly rejoin: () => void;
  readonly log: (line: ClientLogLine) => void;
  readonly clock: Pick<Clock, 'sleep'>;
}

/** A rebalance that is under way is over by then in most cases, and then the two agree. */
const LOOK_AFTER_MS = 4000;
/** So often must the two disagree in a row, about the same partitions. */
const LOOKS = 2;
/** A cluster that is away for longer than this has ended the member's session: it joins anew anyway. */
const MAX_FAILED_LOOKS = 15;

/**
 * Mends an assignment that the client never heard of. It waits for the answer to a heartbeat no longer than the heartbeat interval
 * (librdkafka 2.15.1), and the coordinator tells a change only once, unless it is asked by a heartbeat with all fields. The client sends
 * one behind a lost connection, but not behind an answer that came too late. Partitions then have no owner for as long as the group does
 * not change: seen when a broker was killed in the middle of a rebalance, since the coordinator's answer waits for the other copies.
 */
export class AssignmentWatch {
  readonly #ports: AssignmentPorts;
  #looking = false;
  #again = false;
  readonly #closing = new AbortController();

  constructor(ports: AssignmentPorts) {
    this.#ports = ports;
  }

  /** Takes each line of the client's log; one of them tells of the late answer. */
  heard({ facility, message }: ClientLogLine): void {
    if (facility !== 'REQTMOUT' || !message.includes('ConsumerGroupHeartbeatRequest')) return;
    if (this.#looking) this.#again = true;
    else void this.#look();
  }

  close(): void {
    this.#closing.abort();
  }

  async #look(): Promise<void> {
    const { members, owned, rejoin, log, clock } = this.#ports;
    this.#looking = true;
    let before = '';
    for (let disagreed = 0, failed = 0; disagreed < LOOKS && failed < MAX_FAILED_LOOKS; ) {
      this.#again = false;
      await clock.sleep(LOOK_AFTER_MS, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      try {
        const views = await members();
        const own = owned();
        if (own === undefined) continue;
        if (this.#closing.signal.aborted || views.some((view) => agrees(view, own))) break;
        const now = [...own].sort().join();
        disagreed = now === before ? disagreed + 1 : 1;
        before = now;
      } catch {
        failed++; // The coordinator is away: looked for again.
        continue;
      }
      if (disagreed < LOOKS) continue;
      log({
        severity: 4,
        facility: 'ASSIGNMENT',
        message: 'the coordinator’s assignment was lost with a late answer; joining the group again',
      });
      rejoin();
    }
    this.#looking = false;
    // Another answer was late meanwhile.
    if (this.#again && !this.#closing.signal.aborted) void this.#look();
  }
}

/** Whether the view may be ours: the coordinator knows that we own exactly this, and wants nothing of it back. */
function agrees({ assignment, target }: MemberView, owned: ReadonlySet<string>): boolean {
  return assignment.size === owned.size && [...owned].every((partition) => assignment.has(partition) && target.has(partition));
}
