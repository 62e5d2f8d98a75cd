import { setTimeout as delay } from 'node:timers/promises';
import { brokerNames } from '@tailrace/stack';
import type { Cluster } from '../cluster/cluster.ts';
import type { GroupName, Member } from '../cluster/member.ts';
import { until } from '../machine/until.ts';
import type { Feed } from './feed.ts';
import { type BrokerStep, GROUPS, type GroupStep, type Plan, SLOTS, type Step, stepsOf } from './plan.ts';

export interface ChaosOptions {
  readonly cluster: Cluster;
  readonly feed: Feed;
  readonly plan: Plan;
  /** Written in equal parts, one for each step. */
  readonly records: number;
  readonly report: (line: string) => void;
}

/** As long as the feed may take for one step's share, a broker's death included. */
const WRITTEN_MS = 120_000;

/** Carries out a plan while records are written: the steps of each group one after another, the groups and the brokers side by side. */
export class Chaos {
  readonly #options: ChaosOptions;
  readonly #slots: Readonly<Record<GroupName, Member[]>> = { archiver: [], indexer: [] };
  readonly #stepCount: number;
  #begun = 0;
  #ended = false;
  readonly done = { kills: { archiver: 0, indexer: 0 }, zombies: 0, visitors: 0, brokers: 0 };
  /** Members that ended although nobody told them to. They are started anew, as a supervisor would. */
  readonly deaths: string[] = [];

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#stepCount = stepsOf(options.plan).length;
  }

  /** Resolves when every step is done and all members stand. */
  async run(): Promise<void> {
    const { cluster, plan } = this.#options;
    for (const group of GROUPS) for (let slot = 0; slot < SLOTS; slot++) this.#fill(group, slot);
    await Promise.all(GROUPS.map((group) => cluster.settled(group, this.#slots[group])));
    this.#options.report(`${SLOTS} members of each group own its partitions; the torture begins`);
    await Promise.all([...GROUPS.map((group) => this.#group(group, plan.groups[group])), this.#brokers(plan.brokers)]);
    await Promise.all(GROUPS.map((group) => cluster.settled(group, this.#slots[group])));
  }

  /** From here on the end of a member is meant. */
  end(): void {
    this.#ended = true;
  }

  async #group(group: GroupName, steps: readonly GroupStep[]): Promise<void> {
    for (const step of steps) {
      await this.#moment(step);
      const begunMs = performance.now();
      await this.#do(group, step);
      this.#told(group, step, begunMs);
    }
  }

  async #brokers(steps: readonly BrokerStep[]): Promise<void> {
    const { cluster } = this.#options;
    for (const step of steps) {
      await this.#moment(step);
      const begunMs = performance.now();
      const name = brokerNames(3)[step.broker] ?? 'kafka-1';
      // Not a wait for something: this is how long it is away.
      await cluster.stack.restart(name, 'kill', () => delay(step.awayMs));
      this.done.brokers++;
      await cluster.inSync();
      this.#told(name, step, begunMs);
    }
  }

  #told(what: string, step: Step, begunMs: number): void {
    const { acknowledged } = this.#options.feed;
    const took = ((performance.now() - begunMs) / 1000).toFixed(1);
    this.#options.report(
      `${String(this.#begun).padStart(3)} of ${this.#stepCount}  ${what} ${step.kind} (${took} s)  ${acknowledged} written`,
    );
  }

  /** Lets the step's share be written, and waits until the step's part of it is. */
  async #moment({ share, pauseMs }: Step): Promise<void> {
    const { feed, records } = this.#options;
    const before = Math.floor((records * this.#begun) / this.#stepCount);
    const after = Math.floor((records * ++this.#begun) / this.#stepCount);
    feed.allow(after);
    const wanted = before + Math.floor((after - before) * share);
    await until(`${wanted} records written`, WRITTEN_MS, () => feed.acknowledged >= wanted);
    await delay(pauseMs);
  }

  async #do(group: GroupName, step: GroupStep): Promise<void> {
    switch (step.kind) {
      case 'kill':
        return await this.#kill(group, step.slot, step.patient);
      case 'zombie':
        return await this.#zombie(group, step.slot, step.heldMs);
      case 'visit':
        return await this.#visit(group, step.stayMs);
    }
  }

  async #kill(group: GroupName, slot: number, patient: boolean): Promise<void> {
    const { cluster } = this.#options;
    await this.#member(group, slot).kill();
    this.done.kills[group]++;
    const next = this.#fill(group, slot);
    if (patient) await cluster.settled(group, this.#slots[group]);
    else await next.up();
  }

  /** A member that was stopped goes on as if nothing had been, while others already work on its partitions. */
  async #zombie(group: GroupName, slot: number, heldMs: number): Promise<void> {
    const { cluster } = this.#options;
    await cluster.settled(group, this.#slots[group]);
    const zombie = this.#member(group, slot);
    zombie.hold();
    await cluster.settled(
      group,
      this.#slots[group].filter((member) => member !== zombie),
    );
    await delay(heldMs);
    zombie.release();
    this.done.zombies++;
    await cluster.settled(group, this.#slots[group]);
  }

  async #visit(group: GroupName, stayMs: number): Promise<void> {
    const { cluster } = this.#options;
    const visitor = cluster.join(group);
    await until(`a visitor of ${group} with partitions of its own`, WRITTEN_MS, async () => {
      if (!visitor.running) throw new Error('it has ended');
      return (await visitor.partitions()).length > 0;
    });
    await delay(stayMs);
    const code = await visitor.leave();
    if (code !== 0) this.deaths.push(`${visitor.name} left with exit code ${code}`);
    this.done.visitors++;
  }

  #member(group: GroupName, slot: number): Member {
    const member = this.#slots[group][slot];
    if (member === undefined) throw new Error(`${group} has no member ${slot}`);
    return member;
  }

  /** Puts a new member into a slot. */
  #fill(group: GroupName, slot: number): Member {
    const member = this.#options.cluster.join(group);
    this.#slots[group][slot] = member;
    void member.ended.then((how) => {
      // Killed by us, or replaced already.
      if (this.#ended || member.killed || this.#slots[group][slot] !== member) return;
      this.deaths.push(`${member.name} ended with ${how}`);
      // One that never came up has a fault that another start does not mend: whoever waits for it says so.
      if (member.wasUp) this.#fill(group, slot);
    });
    return member;
  }
}
