import { randomBytes } from 'node:crypto';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { DailyIndices } from '../daily-indices.ts';
import { SearchClient } from '../search-client.ts';

export interface TestSearch {
  readonly url: string;
  readonly client: SearchClient;
  /** The alias and index prefix of this test alone. */
  readonly name: string;
  readonly indices: DailyIndices;
  /** Every document of a partition, by id, after a refresh. */
  documents(partition: number): Promise<Map<string, Readonly<Record<string, unknown>>>>;
  /** How many documents a query finds. */
  count(query: object): Promise<number>;
  /** Removes what the test made. */
  remove(): Promise<void>;
}

interface Hit {
  readonly _id: string;
  readonly _source: Readonly<Record<string, unknown>>;
}

/** The real OpenSearch that the environment names, with names of this test's own. */
export function testSearch(): TestSearch {
  const url = endpointsFromEnvironment().opensearchUrl;
  const client = new SearchClient({ url });
  const name = `test-${randomBytes(6).toString('hex')}`;
  return {
    url,
    client,
    name,
    indices: new DailyIndices(client, { name, shards: 1, replicas: 0 }),
    async documents(partition) {
      await client.demand({ method: 'POST', path: `/${name}/_refresh` });
      // Not through the client: it refuses an answer in which a document holds a member named __proto__.
      const answer = await fetch(`${url}/${name}/_search?size=10000&q=partition:${partition}`);
      const { hits } = (await answer.json()) as { readonly hits: { readonly hits: readonly Hit[] } };
      return new Map(hits.hits.map((hit) => [hit._id, hit._source]));
    },
    async count(query) {
      await client.demand({ method: 'POST', path: `/${name}/_refresh` });
      const found = await client.demand({ method: 'POST', path: `/${name}/_count`, json: { query } });
      return (found as { readonly count: number }).count;
    },
    async remove() {
      await client.request({ method: 'DELETE', path: `/${name}-*` });
      await client.request({ method: 'DELETE', path: `/_index_template/${name}*` });
      await client.close();
    },
  };
}
