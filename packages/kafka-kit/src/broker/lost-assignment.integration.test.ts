import { type Stack, startStack } from '@tailrace/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectAdmin } from '../admin/cluster-admin.ts';
import type { TopicPartition } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';
import { systemClock } from '../time/clock.ts';
import type { BrokerConsumer, ClientLogLine } from './broker-consumer.ts';
import { createNativeConsumer } from './native-consumer.ts';

const TOPIC = 'events';
const PARTITIONS = 12;
/** Longer than the client waits for the answer to a heartbeat (1 s here), and shorter than the session (6 s). */
const SILENT_MS = 2500;
const SETTLED_MS = 60_000;
const ROUNDS = 3;

let stack: Stack;
let settings: KafkaSettings;

/** A Kafka of its own: this test stops it in the middle of its work. */
beforeAll(async () => {
  stack = await startStack({ jit: 'fast-start' });
  settings = { bootstrapServers: stack.endpoints.kafkaBootstrapServers, clientId: 'lost-assignment', securityProtocol: 'plaintext' };
  const admin = await connectAdmin(settings);
  const spec = { name: TOPIC, key: 'none' as const, partitions: PARTITIONS, replicationFactor: 1, configs: {} };
  await admin.apply([{ kind: 'create', topic: TOPIC, spec }]);
  await admin.close();
}, 180_000);
afterAll(() => stack?.stop());

function kafkaProcess(signal: 'SIGSTOP' | 'SIGCONT'): void {
  const pid = stack.processes.find(({ name }) => name === 'kafka')?.pid;
  if (pid === undefined) throw new Error('Kafka does not run');
  process.kill(pid, signal);
}

/** A member that takes what it is given and gives back what is wanted. */
class Member {
  readonly lines: ClientLogLine[] = [];
  readonly owned = new Set<number>();
  readonly #consumer: BrokerConsumer;
  readonly #polling: Promise<void>;
  #ended = false;

  private constructor(consumer: BrokerConsumer) {
    this.#consumer = consumer;
    this.#polling = this.#poll();
  }

  static async join(group: string): Promise<Member> {
    const consumer = createNativeConsumer(settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 });
    let member: Member | undefined;
    const take = (kind: string, partitions: readonly TopicPartition[]): void => {
      if (kind === 'assigned') consumer.assign(partitions.map((each) => ({ ...each, nextToRead: 0 })));
      else consumer.unassign(partitions);
      for (const { partition } of partitions) {
        if (kind === 'assigned') member?.owned.add(partition);
        else member?.owned.delete(partition);
      }
    };
    await consumer.connect([TOPIC], {
      rebalance: ({ kind, partitions }) => take(kind, partitions),
      commit: () => {},
      log: (line) => void member?.lines.push(line),
    });
    member = new Member(consumer);
    return member;
  }

  async leave(): Promise<void> {
    this.#ended = true;
    await this.#polling;
    await this.#consumer.close(20_000);
  }

  async #poll(): Promise<void> {
    // A broker that is away is no end: the client says so, and comes back by itself.
    while (!this.#ended) await this.#consumer.poll(100, 50).catch(() => []);
  }
}

async function until(condition: () => boolean, what: () => string): Promise<void> {
  const endMs = Date.now() + SETTLED_MS;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error(`${what()}: not so after ${SETTLED_MS} ms`);
    await systemClock.sleep(20);
  }
}

it('an assignment whose answer came too late for the client is mended: no partition stays without an owner', async () => {
  const group = 'lost-assignment';
  const members = [await Member.join(group)];
  const shared = (): boolean => {
    const all = members.flatMap(({ owned }) => [...owned]);
    return all.length === PARTITIONS && new Set(all).size === PARTITIONS && members.every(({ owned }) => owned.size > 0);
  };
  const said = (): string => `the partitions shared out (${members.map(({ owned }) => `[${[...owned]}]`).join(' ')})`;
  await until(shared, said);
  let late = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const first = members[0];
    if (first === undefined) throw new Error('the first member is there all the time');
    const second = await Member.join(group);
    members.push(second);
    // Told apart by chance: what the coordinator answers to the first one's next heartbeat is that it has to give half of them back.
    await systemClock.sleep(round * 150);
    kafkaProcess('SIGSTOP');
    // Not a wait for something: this is how long it is silent.
    await systemClock.sleep(SILENT_MS);
    kafkaProcess('SIGCONT');
    await until(shared, said);
    late += members.flatMap(({ lines }) => lines).filter(({ message }) => message.includes('ConsumerGroupHeartbeatRequest')).length;
    members.pop();
    await second.leave();
    await until(shared, said);
  }
  // Or the test has shown nothing.
  expect(late).toBeGreaterThan(0);
  const mended = members.flatMap(({ lines }) => lines).filter(({ facility }) => facility === 'ASSIGNMENT').length;
  console.info(`${late} heartbeats had their answer too late, and ${mended} assignments were mended`);
  for (const member of members) await member.leave();
}, 300_000);
