import { groups, SERVICE_EVENTS_TOPIC, streams } from '@tailrace/events';
import { type ClusterAdmin, connectAdmin } from '@tailrace/kafka-kit';
import { type GatewayCounts, GatewayTotals } from './gateway-counts.ts';
import { LAKE_PREFIX, type Pipeline } from './pipeline.ts';
import { SinkCounts } from './sink-counts.ts';

/** What has arrived where. A number is undefined while its server does not answer. */
export interface Progress {
  /** By whomever they were posted, since this start. */
  readonly gateway: GatewayCounts | undefined;
  readonly indexed: number | undefined;
  readonly archived: number | undefined;
  readonly lag: ReadonlyMap<string, number | undefined>;
}

/** Groups that this start runs. */
const RUNNING = groups.filter(({ name }) => name === 'indexer' || name === 'archiver').map(({ name }) => name);

/** Asks the servers themselves how far everything is. */
export class ProgressReader {
  readonly counts: SinkCounts;
  readonly #pipeline: Pipeline;
  readonly #gateway: GatewayTotals;
  #admin: ClusterAdmin | undefined;

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
    this.#gateway = new GatewayTotals(pipeline.service('ingest-gateway'));
    this.counts = new SinkCounts(pipeline.stack.endpoints, pipeline.connections.opensearch, LAKE_PREFIX);
  }

  async read(): Promise<Progress> {
    const [gateway, indexed, archived, ...lags] = await Promise.all([
      orUndefined(this.#gateway.read()),
      orUndefined(this.counts.indexed(false)),
      orUndefined(this.counts.archived()),
      ...RUNNING.map((group) => orUndefined(this.#lag(group))),
    ]);
    return { gateway, indexed, archived, lag: new Map(RUNNING.map((group, i) => [group, lags[i]])) };
  }

  async close(): Promise<void> {
    await Promise.all([this.counts.close(), this.#admin?.close()]);
  }

  async #lag(group: string): Promise<number> {
    this.#admin ??= await connectAdmin(this.#pipeline.connections.kafka);
    const partitions = await this.#admin.groupLag(group, streams[SERVICE_EVENTS_TOPIC] ?? []);
    return partitions.reduce((sum, { lag }) => sum + lag, 0);
  }
}

/** A server that is away is a fact to show, not a reason to stop watching the others. */
async function orUndefined<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch {
    return undefined; // Shown as "no answer"; the next look asks again.
  }
}
