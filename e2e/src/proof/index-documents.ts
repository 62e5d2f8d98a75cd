import { parseRecordId } from '@tailrace/events';
import { type Place, placeOf } from './records.ts';

export interface IndexedDocument {
  readonly place: Place;
  readonly number: number;
}

interface Hit {
  readonly _id: string;
  readonly _source: {
    readonly incarnation: string;
    readonly partition: number;
    readonly offset: number;
    readonly attributes?: { readonly n?: number };
  };
}

interface Page {
  readonly _scroll_id: string;
  readonly hits: { readonly hits: readonly Hit[] };
}

const PAGE = 5000;

/** @throws Error with what OpenSearch says when it does not answer with 200 */
async function ask<T>(url: string, method: 'GET' | 'POST' | 'DELETE', body?: object): Promise<T> {
  const answer = await fetch(url, {
    method,
    signal: AbortSignal.timeout(60_000),
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${(await answer.text()).slice(0, 500)}`);
  return (await answer.json()) as T;
}

/** How many documents are behind the alias, those included that were not searchable yet. */
export async function countDocuments(opensearchUrl: string, alias: string): Promise<number> {
  await ask(`${opensearchUrl}/${alias}/_refresh?ignore_unavailable=true`, 'POST');
  return (await ask<{ count: number }>(`${opensearchUrl}/${alias}/_count?ignore_unavailable=true`, 'GET')).count;
}

/** Every document behind the alias. A document whose id and coordinates differ throws: its place would be a guess. */
export async function readDocuments(opensearchUrl: string, alias: string): Promise<IndexedDocument[]> {
  await ask(`${opensearchUrl}/${alias}/_refresh`, 'POST');
  const query = { size: PAGE, sort: ['_doc'], _source: ['incarnation', 'partition', 'offset', 'attributes.n'] };
  let page = await ask<Page>(`${opensearchUrl}/${alias}/_search?scroll=2m`, 'POST', query);
  const documents: IndexedDocument[] = [];
  while (page.hits.hits.length > 0) {
    documents.push(...page.hits.hits.map(documentOf));
    page = await ask<Page>(`${opensearchUrl}/_search/scroll`, 'POST', { scroll: '2m', scroll_id: page._scroll_id });
  }
  await ask(`${opensearchUrl}/_search/scroll`, 'DELETE', { scroll_id: [page._scroll_id] });
  return documents;
}

function documentOf({ _id, _source: { incarnation, partition, offset, attributes } }: Hit): IndexedDocument {
  const id = parseRecordId(_id);
  if (id === undefined || id.incarnation !== incarnation || id.partition !== partition || id.offset !== offset)
    throw new Error(`the document ${_id} says that it is ${incarnation}, partition ${partition}, offset ${offset}`);
  return { place: placeOf(incarnation, partition, offset), number: attributes?.n ?? -1 };
}
