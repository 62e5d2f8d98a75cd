import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TopicProfile, topicsFor } from '@tailrace/events';
import { type ClusterAdmin, connectAdmin, planTopics } from '@tailrace/kafka-kit';
import { type BrokerCount, environmentOf, type Stack, type StackOptions, startStack } from '@tailrace/stack';
import { environmentWith } from '../config.ts';
import { until } from '../machine/until.ts';
import { Command, run } from '../pipeline/command.ts';
import { kafkaSettings, LAKE, type ServerEndpoints, TOPIC } from '../pipeline/endpoints.ts';
import { type AppName, Member, type StreamGroup } from './member.ts';

export interface ClusterOptions extends Pick<StackOptions, 'signal' | 'report' | 'jit'> {
  readonly brokers: BrokerCount;
}

const PARTITIONS = 12;
const SETTLED_MS = 120_000;
const IN_SYNC_MS = 60_000;
const COMMAND_MS = 300_000;

/** Real servers with the topics made, and members of the two groups as many as are wanted: what `npm start` runs, with every part in the hand. */
export class Cluster {
  readonly stack: Stack;
  readonly admin: ClusterAdmin;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #members = new Set<Member>();
  #made = 0;

  private constructor(stack: Stack, admin: ClusterAdmin, environment: Readonly<Record<string, string>>) {
    this.stack = stack;
    this.admin = admin;
    this.#environment = environment;
  }

  static async start({ brokers, ...options }: ClusterOptions): Promise<Cluster> {
    const stack = await startStack({ ...options, brokers });
    try {
      const profile: TopicProfile = brokers === 1 ? 'local' : 'cluster';
      const admin = await connectAdmin(kafkaSettings(stack.endpoints));
      const specs = topicsFor(profile).filter(({ state }) => state === 'active');
      await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
      const own = { TAILRACE_TOPIC_PROFILE: profile, TAILRACE_LAKE_PREFIX: LAKE.prefix };
      return new Cluster(stack, admin, { ...environmentOf(stack.endpoints), ...own });
    } catch (failed) {
      await stack.stop();
      throw failed;
    }
  }

  get endpoints(): ServerEndpoints {
    return this.stack.endpoints;
  }

  /** Starts a gateway, or one more member of a group, with a folder of its own. Objects are closed soon: many boundaries are what is wanted here. */
  join(app: AppName, settings: Readonly<Record<string, string>> = {}, { clock = false }: { readonly clock?: boolean } = {}): Member {
    const name = `${app}-${++this.#made}`;
    const folder = join(this.stack.folder, 'members', name);
    mkdirSync(folder, { recursive: true });
    const member = new Member({
      app,
      name,
      environment: {
        ...environmentWith(this.#environment),
        INDEX_REPLICAS: '0',
        ARCHIVER_IDLE_MS: '2000',
        ARCHIVER_MAX_RECORD_TIME_MS: '10000',
        ARCHIVER_MEMORY_MB: '256',
        ARCHIVER_DATA_DIR: folder,
        GATEWAY_PORT: '0',
        ...settings,
      },
      logFile: join(this.stack.folder, 'logs', `${name}.log`),
      lifeline: this.stack.lifeline,
      clock,
    });
    this.#members.add(member);
    return member;
  }

  /** Living members of a group. */
  members(group: StreamGroup): readonly Member[] {
    return [...this.#members].filter((member) => member.app === group && member.running);
  }

  /** Waits until these members own every partition of the topic, each partition one of them, and each member some. */
  async settled(group: StreamGroup, members: readonly Member[] = this.members(group)): Promise<void> {
    await until(`the partitions shared out among ${members.length} members of ${group}`, SETTLED_MS, async () => {
      const gone = members.find(({ running, killed }) => !running && !killed);
      if (gone !== undefined) throw new Error(`${gone.name} has ended by itself`);
      const owned = await Promise.all(members.map((member) => member.partitions()));
      const all = owned.flat();
      if (all.length === PARTITIONS && new Set(all).size === PARTITIONS && owned.every((own) => own.length > 0)) return true;
      throw new Error(`they own ${owned.map((own) => `[${own.join(' ')}]`).join(' ')}`);
    });
  }

  /** Waits until every copy of the topic is in sync again. */
  async inSync(): Promise<void> {
    await until('every copy in sync', IN_SYNC_MS, async () => {
      const under = await this.admin.underReplicated([TOPIC]);
      if (under > 0) throw new Error(`${under} partitions have fewer copies in sync than copies`);
      return true;
    });
  }

  /** Runs a command of the command line on it. */
  tailrace(...args: string[]) {
    return run(process.execPath, ['node_modules/.bin/tailrace', ...args], { environment: this.#environment, limitMs: COMMAND_MS });
  }

  /** Begins a command of the replayer as the process that does the work, so that it can be killed. */
  replayer(...args: string[]): Command {
    return new Command(process.execPath, ['apps/replayer/dist/cli.js', 'replay', ...args], { environment: this.#environment });
  }

  /** Ends everything, in order where that works. */
  async stop(): Promise<void> {
    // Not asked to end in order: what they would still write is of no use to anybody.
    await Promise.all([...this.#members].filter(({ running }) => running).map((member) => member.kill()));
    await this.admin.close();
    await this.stack.stop();
  }
}
