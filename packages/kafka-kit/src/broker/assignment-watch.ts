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
  /** The client does not come back, and must be made anew. */
  readonly dead: (why: string) => void;
  readonly log: (line: ClientLogLine) => void;
  readonly clock: Pick<Clock, 'sleep'>;
}

/** A rebalance that is under way is over by then in most cases, and then the two agree. */
const LOOK_AFTER_MS = 4000;
/** So often must the two disagree in a row, about the same partitions. */
const LOOKS = 2;
/** A cluster that is away for longer than this has ended the member's session: it joins anew anyway. */
const MAX_FAILED_LOOKS = 15;
/** So often is the member nowhere in its group after it was made to join again, before its client counts as dead. */
const OUTSIDE_LOOKS = 15;

/**
 * Mends an assignment that the client never heard of. It waits for the answer to a heartbeat no longer than the heartbeat interval
 * (librdkafka 2.15.1), and the coordinator tells a change only once, unless it is asked by a heartbeat with all fields. The client sends
 * one behind a lost connection, but not behind an answer that came too late. Partitions then have no owner for as long as the group does
 * not change: seen when a broker was killed in the middle of a rebalance, since the coordinator's answer waits for the other copies.
 */
export class AssignmentWatch {
  readonly #ports: AssignmentPorts;
  #looking = false;
  /** What was heard since the look that is under way began. */
  #heard: 'nothing' | 'late-answer' | 'connection-lost' = 'nothing';
  readonly #closing = new AbortController();

  constructor(ports: AssignmentPorts) {
    this.#ports = ports;
  }

  /** Takes each line of the client's log; some of them tell of a late answer, or that the connection to the coordinator is gone. */
  heard({ facility, message }: ClientLogLine): void {
    if (facility === 'FAIL' && message.includes('GroupCoordinator')) this.#heard = 'connection-lost';
    if (facility !== 'REQTMOUT' || !message.includes('ConsumerGroupHeartbeatRequest')) return;
    this.#heard = 'late-answer';
    if (!this.#looking) void this.#look();
  }

  close(): void {
    this.#closing.abort();
  }

  async #look(): Promise<void> {
    this.#looking = true;
    do {
      if ((await this.#disagree()) && !this.#closing.signal.aborted) await this.#joinAgain();
    } while (this.#hasHeard('late-answer') && !this.#closing.signal.aborted);
    this.#looking = false;
  }

  /** Whether client and coordinator hold on to different assignments, with the connection between them whole. */
  async #disagree(): Promise<boolean> {
    let before = '';
    for (let disagreed = 0, failed = 0; failed < MAX_FAILED_LOOKS && !this.#closing.signal.aborted; ) {
      this.#heard = 'nothing';
      const seen = await this.#see();
      // Behind a lost connection the client sends all fields by itself. Made to leave before it has a connection again, it never came back.
      if (this.#hasHeard('connection-lost')) return false;
      if (seen === undefined) failed += 1;
      if (seen === undefined || seen.own === undefined) continue;
      const { views, own } = seen;
      // A group without members has forgotten this one too, and tells it so with the next answer.
      if (views.length === 0 || views.some((view) => agrees(view, own))) return false;
      const now = [...own].sort().join();
      disagreed = now === before ? disagreed + 1 : 1;
      before = now;
      if (disagreed === LOOKS) return true;
    }
    return false;
  }

  async #joinAgain(): Promise<void> {
    const { rejoin, dead, log } = this.#ports;
    log({
      severity: 4,
      facility: 'ASSIGNMENT',
      message: 'the coordinator’s assignment was lost with a late answer; joining the group again',
    });
    rejoin();
    for (let outside = 0; outside < OUTSIDE_LOOKS; ) {
      const seen = await this.#see();
      if (this.#closing.signal.aborted) return;
      if (seen === undefined || seen.own === undefined) continue;
      const { views, own } = seen;
      // One that is to own nothing may be this one.
      if (own.size > 0 || views.some(({ assignment }) => assignment.size === 0)) return;
      outside += 1;
    }
    dead(`the client has not joined its group again for ${(OUTSIDE_LOOKS * LOOK_AFTER_MS) / 1000} s, although the coordinator answers`);
  }

  #hasHeard(what: 'late-answer' | 'connection-lost'): boolean {
    return this.#heard === what;
  }

  /** One look after a while; undefined when the coordinator is away, which is no news of the assignment. */
  async #see(): Promise<{ readonly views: readonly MemberView[]; readonly own: ReadonlySet<string> | undefined } | undefined> {
    const { members, owned, clock } = this.#ports;
    await clock.sleep(LOOK_AFTER_MS, this.#closing.signal);
    try {
      const views = await members();
      return { views, own: owned() };
    } catch {
      return undefined; // Safe: the caller looks again.
    }
  }
}

/** Whether the view may be ours: the coordinator knows that we own exactly this, and wants nothing of it back. */
function agrees({ assignment, target }: MemberView, owned: ReadonlySet<string>): boolean {
  return assignment.size === owned.size && [...owned].every((partition) => assignment.has(partition) && target.has(partition));
}
