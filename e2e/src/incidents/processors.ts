import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SeededRandom, seededRandom } from '@tailrace/events';
import type { Cluster } from '../cluster/cluster.ts';
import type { Member } from '../cluster/member.ts';
import { until } from '../machine/until.ts';
import type { PushFault } from './push.ts';
import type { AlertReceiver } from './receiver.ts';

type Stages = 'panes,decide' | 'panes' | 'decide';

const PARTITIONS = 12;
const CAUGHT_UP_MS = 120_000;
/** The processor's own default: a lane at its end has its watermark so far behind the clock. */
const LATENESS_MS = 60_000;

export interface ProcessorsOptions {
  /** Processes, of which each runs both stages; or of each stage, where they run apart. */
  readonly members: number;
  readonly stages: 'together' | 'apart';
  /** Whether their clock is in the hand. */
  readonly clock: boolean;
  readonly seed: number;
  readonly report: (line: string) => void;
}

/** What the processes begin with: the text of their rules and of their notifiers, and the clock. */
export interface Begin {
  readonly startMs: number;
  readonly rules: string;
  readonly notifiers: string;
}

/** The processes of the alert-processor. */
export class Processors {
  readonly #cluster: Cluster;
  readonly #options: ProcessorsOptions;
  readonly #receiver: AlertReceiver;
  readonly #random: SeededRandom;
  readonly #living = new Map<Member, Stages>();
  #startMs = 0;
  #nowMs = 0;

  constructor(cluster: Cluster, options: ProcessorsOptions, receiver: AlertReceiver) {
    this.#cluster = cluster;
    this.#options = options;
    this.#receiver = receiver;
    this.#random = seededRandom(options.seed + 2);
  }

  async start({ startMs, rules, notifiers }: Begin): Promise<void> {
    this.#startMs = startMs;
    this.#nowMs = this.#options.clock ? startMs : Date.now();
    this.writeRules(rules);
    writeFileSync(join(this.#cluster.stack.folder, 'incident-notifiers.yaml'), notifiers);
    const stages: readonly Stages[] = this.#options.stages === 'apart' ? ['panes', 'decide'] : ['panes,decide'];
    for (let i = 0; i < this.#options.members; i++) for (const each of stages) this.#join(each);
    await this.#caughtUp();
  }

  /** Changes their rules: they see it by themselves. */
  writeRules(text: string): void {
    writeFileSync(join(this.#cluster.stack.folder, 'incident-rules.yaml'), text);
  }

  /** Those that run. */
  get living(): readonly Member[] {
    return [...this.#living.keys()];
  }

  /** Moves the clock. */
  tell(nowMs: number): void {
    this.#nowMs = nowMs;
    for (const member of this.#living.keys()) member.tellTime(nowMs);
  }

  /** Moves the clock, and waits until every record, and what follows from it, is taken. */
  async reach(nowMs: number): Promise<void> {
    this.tell(nowMs);
    await this.#caughtUp();
  }

  async meet(fault: PushFault): Promise<void> {
    this.#options.report(`${fault} at ${Math.round((this.#nowMs - this.#startMs) / 1000)} s`);
    switch (fault) {
      case 'kill':
        await this.#replace([...this.#living.keys()][Math.floor(this.#random.next() * this.#living.size)]);
        return;
      case 'mid-send':
        this.#receiver.beforeAnswer = () => this.#killDeciders();
        return;
      case 'join':
        this.#join(this.#options.stages === 'apart' ? 'panes' : 'panes,decide');
        return;
      case 'leave': {
        const stages = [...this.#living.values()];
        const left = [...this.#living].find(([, each]) => stages.filter((other) => other === each).length > 1);
        if (left === undefined) return;
        this.#living.delete(left[0]);
        await left[0].leave();
        return;
      }
      case 'broker':
        await this.#cluster.stack.restart('kafka', 'kill');
        return;
      case 'replay':
        await this.#replay();
    }
  }

  async end(): Promise<void> {
    await Promise.all([...this.#living.keys()].map((member) => member.kill()));
  }

  #join(stages: Stages): void {
    const { folder } = this.#cluster.stack;
    const settings = {
      ALERT_RULES: join(folder, 'incident-rules.yaml'),
      ALERT_NOTIFIERS: join(folder, 'incident-notifiers.yaml'),
      ALERT_STAGES: stages,
      // The times of its records are the events' own here.
      TAILRACE_CONTRACT: 'warn',
    };
    const member = this.#cluster.join('alert-processor', settings, { clock: this.#options.clock });
    member.tellTime(this.#nowMs);
    this.#living.set(member, stages);
  }

  async #replace(member: Member | undefined): Promise<void> {
    const stages = member && this.#living.get(member);
    if (member === undefined || stages === undefined) return;
    this.#living.delete(member);
    await member.kill();
    this.#join(stages);
  }

  async #killDeciders(): Promise<void> {
    const deciders = [...this.#living].filter(([, stages]) => stages !== 'panes');
    await Promise.all(deciders.map(([member]) => this.#replace(member)));
  }

  async #replay(): Promise<void> {
    const indexer = this.#cluster.join('indexer', { TAILRACE_CONTRACT: 'warn' });
    await indexer.ready();
    const window = ['--from', new Date(this.#startMs).toISOString(), '--to', new Date(this.#nowMs).toISOString()];
    for (const args of [
      ['plan', ...window, '--into', 'indexer'],
      ['run', '1', '--source', 'kafka'],
    ]) {
      const { code, stdout, stderr } = await this.#cluster.tailrace('replay', ...args);
      if (code !== 0) throw new Error(`replay ${args[0]} ended with ${code}: ${stderr}${stdout}`);
    }
    await indexer.leave();
  }

  /** Every partition has one owner in each stage, who has read all of it and has looked at the clock. */
  async #caughtUp(): Promise<void> {
    await until(`everything taken up to ${new Date(this.#nowMs).toISOString()}`, CAUGHT_UP_MS, async () => {
      const members = [...this.#living.keys()];
      const told = await Promise.all(members.map((member) => member.alertsUpTo()));
      const panes = told.flatMap(({ panes }) => panes);
      const decided = told.flatMap(({ decided }) => decided);
      if (
        panes.length === PARTITIONS &&
        decided.length === PARTITIONS &&
        [...panes, ...decided].every((ms) => ms >= this.#nowMs - LATENESS_MS)
      )
        return true;
      throw new Error(
        `stage 1 at ${panes.map((ms) => ms - this.#nowMs).join(' ')}, stage 2 at ${decided.map((ms) => ms - this.#nowMs).join(' ')}`,
      );
    });
  }
}
