import { Client, type ClientOptions } from '@opensearch-project/opensearch';
import { SERVICE_EVENTS_TOPIC } from '@tailrace/events';
import { countEvents, listDataObjects, S3Store, storeBuffer } from '@tailrace/lake';
import type { Endpoints } from '@tailrace/stack';

/** A look is repeated by whoever watches, so one try is enough. */
const LOOK = { requestTimeout: 5000, maxRetries: 0 };

/** Counts what has arrived, in the sinks themselves: never from what the services say of their own work. */
export class SinkCounts {
  readonly #search: Client;
  readonly #store: S3Store;
  readonly #lake: { readonly prefix: string; readonly stream: string };
  /** The events of each object. It never changes once it stands, and is opened once. */
  readonly #rows = new Map<string, number>();

  constructor(endpoints: Endpoints, opensearch: ClientOptions, lakePrefix: string) {
    this.#search = new Client(opensearch);
    const { endpointUrl: endpoint, region, bucket, accessKeyId, secretAccessKey } = endpoints.s3;
    this.#store = new S3Store({ bucket, region, endpoint, accessKeyId, secretAccessKey });
    this.#lake = { prefix: lakePrefix, stream: SERVICE_EVENTS_TOPIC };
  }

  /** Documents behind the alias; with `refresh` also those that are not searchable yet. 0 before the first index. */
  async indexed(refresh: boolean): Promise<number> {
    const index = SERVICE_EVENTS_TOPIC;
    if (refresh) await this.#search.indices.refresh({ index, ignore_unavailable: true });
    const { body } = await this.#search.count({ index, ignore_unavailable: true }, refresh ? {} : LOOK);
    return body.count;
  }

  /** Events in the lake's Parquet objects; canaries are none. */
  async archived(): Promise<number> {
    let rows = 0;
    for (const { key, sizeBytes } of await listDataObjects(this.#store, this.#lake)) {
      let own = this.#rows.get(key);
      if (own === undefined) {
        own = await countEvents(storeBuffer(this.#store, key, sizeBytes));
        this.#rows.set(key, own);
      }
      rows += own;
    }
    return rows;
  }

  async close(): Promise<void> {
    await this.#search.close();
  }
}
