import { randomUUID } from 'node:crypto';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { type ClusterAdmin, connectAdmin } from '../admin/cluster-admin.ts';
import type { KafkaSettings } from '../settings.ts';

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

  async close(): Promise<void> {
    await this.#admin?.deleteTopics(this.#made);
    await this.#admin?.close();
  }
}
