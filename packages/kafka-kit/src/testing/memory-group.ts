import type { Position, RebalanceEvent } from '../broker/broker-consumer.ts';
import { partitionKey, type TopicPartition } from '../records.ts';

/** A member as the coordinator sees it. */
export interface MemoryMember {
  readonly id: string;
  readonly topics: readonly string[];
  /** Puts an event where the member's next poll finds it. */
  deliver(event: RebalanceEvent): void;
}

/** A commit that the coordinator took, and whether the member owned the partition then. */
export interface TakenCommit extends Position {
  readonly member: string;
  readonly owned: boolean;
  readonly before: number | null;
}

interface Membership {
  readonly member: MemoryMember;
  readonly owned: Map<string, TopicPartition>;
  /** The event that the member has not answered yet: it gets no other before. */
  outstanding: RebalanceEvent | undefined;
  /** The session ended: its commits are refused and its partitions are free, whatever it believes. */
  fenced: boolean;
}

/** A group's coordinator with a cooperative protocol: a partition is free only when its owner has answered the revoke, or was fenced. */
export class MemoryGroup {
  readonly #partitionsOf: (topic: string) => readonly TopicPartition[];
  readonly #members = new Map<string, Membership>();
  readonly #offsets = new Map<string, number>();
  /** Partitions that a test has given to a member by hand. */
  readonly #pinned = new Map<string, string>();
  readonly commits: TakenCommit[] = [];

  constructor(partitionsOf: (topic: string) => readonly TopicPartition[]) {
    this.#partitionsOf = partitionsOf;
  }

  join(member: MemoryMember): void {
    this.#members.set(member.id, { member, owned: new Map(), outstanding: undefined, fenced: false });
    this.rebalance();
  }

  /** The member is gone, in peace or by the end of its session. */
  leave(id: string): void {
    this.#members.delete(id);
    this.rebalance();
  }

  /** The member's session ended while it lives: it is told that its partitions are lost, and joins again when it has answered. */
  lose(id: string): void {
    const membership = this.#members.get(id);
    if (membership === undefined || membership.fenced) return;
    membership.fenced = true;
    this.#tellLost(membership);
    this.rebalance();
  }

  isFenced(id: string): boolean {
    return this.#members.get(id)?.fenced ?? true;
  }

  owner(tp: TopicPartition): string | undefined {
    for (const { member, owned, fenced } of this.#members.values()) if (!fenced && owned.has(partitionKey(tp))) return member.id;
    return undefined;
  }

  outstanding(id: string): RebalanceEvent | undefined {
    return this.#members.get(id)?.outstanding;
  }

  /** Gives a partition to a member, by the protocol's rules. */
  move(tp: TopicPartition, to: string): void {
    this.#pinned.set(partitionKey(tp), to);
    this.rebalance();
  }

  /** The member has answered its event. */
  answered(id: string): void {
    const membership = this.#members.get(id);
    const event = membership?.outstanding;
    if (membership === undefined || event === undefined) return;
    membership.outstanding = undefined;
    if (event.kind !== 'assigned') for (const tp of event.partitions) membership.owned.delete(partitionKey(tp));
    if (membership.fenced) {
      if (membership.owned.size > 0) this.#tellLost(membership);
      else membership.fenced = false;
    }
    this.rebalance();
  }

  /** A commit of a live member is taken, also for a partition that it does not own: so does Kafka. */
  commit(id: string, positions: readonly Position[]): void {
    for (const { topic, partition, nextToRead } of positions) {
      const key = partitionKey({ topic, partition });
      const owned = this.#members.get(id)?.owned.has(key) ?? false;
      this.commits.push({ topic, partition, nextToRead, member: id, owned, before: this.#offsets.get(key) ?? null });
      this.#offsets.set(key, nextToRead);
    }
  }

  committed(tp: TopicPartition): number | null {
    return this.#offsets.get(partitionKey(tp)) ?? null;
  }

  /** What a group's reset does, and a test that begins in the middle. */
  setCommitted({ topic, partition, nextToRead }: Position): void {
    this.#offsets.set(partitionKey({ topic, partition }), nextToRead);
  }

  /** A deleted topic takes the groups' offsets along. */
  forget(topic: string): void {
    for (const key of [...this.#offsets.keys()]) if (key.startsWith(`${topic}/`)) this.#offsets.delete(key);
  }

  /** Tells every member that has no open event what it must give back, and when nothing, what is free for it. */
  rebalance(): void {
    const targets = this.#targets();
    for (const membership of this.#members.values()) {
      const { member, owned, outstanding, fenced } = membership;
      if (outstanding !== undefined || fenced) continue;
      const revoked = [...owned.values()].filter((tp) => targets.get(partitionKey(tp))?.id !== member.id);
      if (revoked.length > 0) {
        this.#tell(membership, { kind: 'revoked', partitions: revoked });
        continue;
      }
      const assigned = [...targets.values()].filter(({ id, tp }) => id === member.id && this.#isFree(tp)).map(({ tp }) => tp);
      if (assigned.length === 0) continue;
      for (const tp of assigned) owned.set(partitionKey(tp), tp);
      this.#tell(membership, { kind: 'assigned', partitions: assigned });
    }
  }

  #targets(): Map<string, { readonly id: string; readonly tp: TopicPartition }> {
    const live = [...this.#members.values()].filter(({ fenced }) => !fenced).map(({ member }) => member);
    const targets = new Map<string, { id: string; tp: TopicPartition }>();
    for (const topic of new Set(live.flatMap(({ topics }) => topics))) {
      const able = live.filter(({ topics }) => topics.includes(topic));
      for (const tp of this.#partitionsOf(topic)) {
        const key = partitionKey(tp);
        const pinned = able.find(({ id }) => id === this.#pinned.get(key));
        const to = pinned ?? able[tp.partition % able.length];
        if (to !== undefined) targets.set(key, { id: to.id, tp });
      }
    }
    return targets;
  }

  #isFree(tp: TopicPartition): boolean {
    for (const { owned, fenced } of this.#members.values()) if (!fenced && owned.has(partitionKey(tp))) return false;
    return true;
  }

  #tellLost(membership: Membership): void {
    // One event at a time: with a revoke still open, the rest is told as lost behind its answer.
    if (membership.outstanding !== undefined) return;
    const partitions = [...membership.owned.values()];
    if (partitions.length === 0) membership.fenced = false;
    else this.#tell(membership, { kind: 'lost', partitions });
  }

  #tell(membership: Membership, event: RebalanceEvent): void {
    membership.outstanding = event;
    membership.member.deliver(event);
  }
}
