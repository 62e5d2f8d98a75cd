import { groups, SERVICE_EVENTS_TOPIC, streams } from '@tailrace/events';
import { type ClusterAdmin, connectAdmin } from '@tailrace/kafka-kit';
import { type AlertFacts, readAlertFacts } from './alert-facts.ts';
import { type Figure, Watch } from './figure.ts';
import { type GatewayCounts, GatewayTotals } from './gateway-counts.ts';
import { LAKE_PREFIX, type Pipeline } from './pipeline.ts';
import { pause } from './poster.ts';
import { SinkCounts } from './sink-counts.ts';

/** What has arrived where, as far as it is known now. */
export interface Progress {
  /** By whomever they were posted, since this start. */
  readonly gateway: { readonly counts: GatewayCounts; readonly silentSeconds: number };
  readonly indexed: Figure;
  readonly archived: Figure;
  readonly lag: ReadonlyMap<string, Figure>;
  /** What the alert processor last said, undefined until it has answered; and for how long it has not answered since. */
  readonly alerts: { readonly facts: AlertFacts | undefined; readonly silentSeconds: number };
}

/** Groups that this start runs. */
const RUNNING = groups.map(({ name }) => name);

const CLOSE_MS = 500;

/** Asks the servers themselves how far everything is. */
export class ProgressReader {
  readonly counts: SinkCounts;
  readonly #pipeline: Pipeline;
  readonly #gateway: Watch;
  readonly #indexed: Watch;
  readonly #archived: Watch;
  readonly #lag: ReadonlyMap<string, Watch>;
  readonly #alerts: Watch;
  #facts: AlertFacts | undefined;
  #taken: GatewayCounts = { accepted: 0, rejected: 0 };
  #admin: Promise<ClusterAdmin> | undefined;

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
    const totals = new GatewayTotals(pipeline.service('ingest-gateway'));
    this.counts = new SinkCounts(pipeline.stack.endpoints, pipeline.connections.opensearch, LAKE_PREFIX);
    this.#gateway = new Watch(async () => {
      this.#taken = await totals.read();
      return this.#taken.accepted;
    });
    this.#indexed = new Watch(() => this.counts.indexed(false));
    this.#archived = new Watch(() => this.counts.archived());
    this.#alerts = new Watch(async () => {
      this.#facts = await readAlertFacts(pipeline.started('alert-processor')?.url('health'));
      return this.#facts.firing;
    });
    this.#lag = new Map(RUNNING.map((group) => [group, new Watch(() => this.lagOf(group))]));
  }

  /** Asks every server at one time, and waits for their answers no longer than this. Never rejects. */
  async read(patienceMs: number): Promise<Progress> {
    const watches = [this.#gateway, this.#indexed, this.#archived, this.#alerts, ...this.#lag.values()];
    await within(patienceMs, Promise.all(watches.map((watch) => watch.ask())));
    return {
      gateway: { counts: this.#taken, silentSeconds: this.#gateway.figure.silentSeconds },
      indexed: this.#indexed.figure,
      archived: this.#archived.figure,
      lag: new Map([...this.#lag].map(([group, watch]) => [group, watch.figure])),
      alerts: { facts: this.#facts, silentSeconds: this.#alerts.figure.silentSeconds },
    };
  }

  /** Closes the connections. Clients wait for their open questions, but a server that hangs must not hold up the stop. */
  async close(): Promise<void> {
    await within(CLOSE_MS, Promise.all([this.counts.close(), this.#admin?.then((admin) => admin.close())]));
  }

  /** How many records of the stream the group has not settled yet. */
  async lagOf(group: string): Promise<number> {
    // One for all groups, also when they are asked at once.
    this.#admin ??= connectAdmin(this.#pipeline.connections.kafka);
    const partitions = await (await this.#admin).groupLag(group, streams[SERVICE_EVENTS_TOPIC] ?? []);
    return partitions.reduce((sum, { lag }) => sum + lag, 0);
  }
}

/** Waits for something, but no longer than this. Rejects as it does meanwhile. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  try {
    await Promise.race([work, pause(ms, done.signal)]);
  } finally {
    done.abort();
  }
}
