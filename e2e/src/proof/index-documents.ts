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

/** Broker times `[fromMs, toMs)`. */
export interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** How many documents are behind the alias, those included that were not searchable yet; with a span only those that arrived in it. */
export async function countDocuments(opensearchUrl: string, alias: string, span?: TimeSpan): Promise<number> {
  await ask(`${opensearchUrl}/${alias}/_refresh?ignore_unavailable=true`, 'POST');
  const query = span === undefined ? { match_all: {} } : { range: { kafka_timestamp: { gte: span.fromMs, lt: span.toMs } } };
  return (await ask<{ count: number }>(`${opensearchUrl}/${alias}/_count?ignore_unavailable=true`, 'POST', { query })).count;
}

/** Removes the indices behind the alias, with all their documents. */
export async function removeIndices(opensearchUrl: string, alias: string): Promise<void> {
  const indices = Object.keys(await ask<Record<string, unknown>>(`${opensearchUrl}/${alias}/_alias`, 'GET'));
  for (const index of indices) await ask(`${opensearchUrl}/${index}`, 'DELETE');
}

/** Every document behind the alias. */
export async function readDocuments(opensearchUrl: string, alias: string): Promise<IndexedDocument[]> {
  const documents: IndexedDocument[] = [];
  await walkDocuments(opensearchUrl, alias, ({ incarnation, partition, offset, number }) => {
    documents.push({ place: placeOf(incarnation, partition, offset), number });
  });
  return documents;
}

/** A document's place, and the number that its event carries; -1 without one. */
export interface DocumentPlace {
  readonly incarnation: string;
  readonly partition: number;
  readonly offset: number;
  readonly number: number;
}

/** Shows every document behind the alias, page by page. A document whose id and coordinates differ throws: its place would be a guess. */
export async function walkDocuments(opensearchUrl: string, alias: string, visit: (document: DocumentPlace) => void): Promise<void> {
  await ask(`${opensearchUrl}/${alias}/_refresh`, 'POST');
  const query = { size: PAGE, sort: ['_doc'], _source: ['incarnation', 'partition', 'offset', 'attributes.n'] };
  let page = await ask<Page>(`${opensearchUrl}/${alias}/_search?scroll=2m`, 'POST', query);
  while (page.hits.hits.length > 0) {
    for (const hit of page.hits.hits) visit(documentOf(hit));
    page = await ask<Page>(`${opensearchUrl}/_search/scroll`, 'POST', { scroll: '2m', scroll_id: page._scroll_id });
  }
  await ask(`${opensearchUrl}/_search/scroll`, 'DELETE', { scroll_id: [page._scroll_id] });
}

function documentOf({ _id, _source: { incarnation, partition, offset, attributes } }: Hit): DocumentPlace {
  const id = parseRecordId(_id);
  if (id === undefined || id.incarnation !== incarnation || id.partition !== partition || id.offset !== offset)
    throw new Error(`the document ${_id} says that it is ${incarnation}, partition ${partition}, offset ${offset}`);
  return { incarnation, partition, offset, number: attributes?.n ?? -1 };
}
