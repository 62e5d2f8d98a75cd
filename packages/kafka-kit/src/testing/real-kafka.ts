import { randomUUID } from 'node:crypto';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { type ClusterAdmin, connectAdmin } from '../admin/cluster-admin.ts';
import type { KafkaSettings } from '../settings.ts';
import { systemClock } from '../time/clock.ts';

const NEW_LOG_MS = 30_000;

/** The cluster that the environment names, for integration tests: topics get fresh names, and are deleted at the end. */
export class RealKafka {
  readonly settings: KafkaSettings;
  readonly #made: string[] = [];
  #admin: ClusterAdmin | undefined;

  constructor(clientId: string) {
    this.settings = { bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers, clientId, securityProtocol: 'plaintext' };
  }

  async admin(): Promise<ClusterAdmin> {
    this.#admin ??= await connectAdmin(this.settings);
    return this.#admin;
  }

  async topic(partitions: number, configs: Readonly<Record<string, string>> = {}): Promise<string> {
    const name = this.name('topic');
    await this.make(name, partitions, configs);
    return name;
  }

  /** A fresh name; a topic of it is deleted at the end. */
  name(what: string): string {
    const name = `${this.settings.clientId}-${what}-${randomUUID()}`;
    if (what === 'topic') this.#made.push(name);
    return name;
  }

  async make(name: string, partitions: number, configs: Readonly<Record<string, string>> = {}): Promise<void> {
    const admin = await this.admin();
    await admin.apply([{ kind: 'create', topic: name, spec: { name, key: 'none', partitions, replicationFactor: 1, configs } }]);
  }

  /** Deletes a topic and makes it anew. Resolves once the new log is the one that takes records: the old one was seen to take some yet. */
  async remake(name: string, partitions: number): Promise<void> {
    const admin = await this.admin();
    await admin.deleteTopics([name]);
    await this.make(name, partitions);
    const endMs = Date.now() + NEW_LOG_MS;
    for (;;) {
      // Until the broker leads the new partitions it answers with an error, or for the old ones.
      const ends = await admin.groupLag(this.name('group'), [name]).catch(() => []);
      if (ends.length === partitions && ends.every(({ logEnd }) => logEnd === 0)) return;
      if (Date.now() > endMs) throw new Error(`the new ${name} is not there after ${NEW_LOG_MS} ms: ${JSON.stringify(ends)}`);
      await systemClock.sleep(20);
    }
  }

  async close(): Promise<void> {
    await this.#admin?.deleteTopics(this.#made);
    await this.#admin?.close();
  }
}
