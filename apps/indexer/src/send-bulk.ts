import type { BulkBody, BulkItem } from './bulk-body.ts';
import { type ItemMeaning, meaningOfItem, meaningOfRequest } from './bulk-outcomes.ts';
import { errorOf, type SearchClient, SearchRefusal } from './search-client.ts';

/** What became of one item: `dead` is the item that no server takes, by itself. */
export interface ItemAnswer {
  readonly item: BulkItem;
  readonly meaning: Exclude<ItemMeaning, 'pause'> | 'dead';
  readonly detail: string;
}

/** Names and positions of the items must survive: a filter that drops the status of the good ones shifts the rest. */
const FILTER_PATH = 'errors,items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by.reason';
/** How long OpenSearch waits for a shard before it answers an item with 503. */
const SHARD_TIMEOUT = '10s';
const MAX_DETAIL_CHARACTERS = 500;

interface ItemBody {
  readonly status: number;
  readonly error?: { readonly type?: string; readonly reason?: string; readonly caused_by?: { readonly reason?: string } };
}

/**
 * Sends a bulk in bodies of at most `maxBytes` (a single larger item goes alone) and says what became of each item, in order.
 * @throws NoAnswer or SearchRefusal when this batch can not be written now, whatever its records are.
 */
export async function sendBulk(client: SearchClient, bulk: BulkBody, maxBytes: number, signal: AbortSignal): Promise<ItemAnswer[]> {
  const answers: ItemAnswer[] = [];
  for (let from = 0; from < bulk.items.length; ) {
    const to = endOfChunk(bulk.items, from, maxBytes);
    answers.push(...(await sendRange(client, bulk, from, to, signal)));
    from = to;
  }
  return answers;
}

function endOfChunk(items: readonly BulkItem[], from: number, maxBytes: number): number {
  const start = items[from]?.start ?? 0;
  let to = from + 1;
  while (to < items.length && (items[to]?.end ?? 0) - start <= maxBytes) to++;
  return to;
}

async function sendRange(client: SearchClient, bulk: BulkBody, from: number, to: number, signal: AbortSignal): Promise<ItemAnswer[]> {
  const items = bulk.items.slice(from, to);
  const ndjson = bulk.bytes.subarray(items[0]?.start, items.at(-1)?.end);
  const query = { filter_path: FILTER_PATH, timeout: SHARD_TIMEOUT };
  const { status, body } = await client.request({ method: 'POST', path: '/_bulk', query, ndjson }, signal);
  if (status === 200) return readAnswers(items, body);
  const error = errorOf(body);
  const detail = `OpenSearch answered the bulk with ${status}: ${error.type ?? 'no type'}: ${(error.reason ?? 'no reason').slice(0, MAX_DETAIL_CHARACTERS)}`;
  const meaning = meaningOfRequest(status, error, items.length, ndjson.length);
  if (meaning === 'split') {
    const middle = from + Math.floor((to - from) / 2);
    return [...(await sendRange(client, bulk, from, middle, signal)), ...(await sendRange(client, bulk, middle, to, signal))];
  }
  if (meaning === 'dead') return items.map((item) => ({ item, meaning, detail }));
  throw new SearchRefusal(detail);
}

/** @throws SearchRefusal when the answer does not fit the request, or when an item's answer stops the whole batch. */
function readAnswers(items: readonly BulkItem[], body: unknown): ItemAnswer[] {
  const { items: answered } = body as { readonly items?: readonly Readonly<Record<string, ItemBody>>[] };
  if (!Array.isArray(answered) || answered.length !== items.length) {
    throw new SearchRefusal(`OpenSearch answered ${answered?.length ?? 'no'} items for ${items.length} records`);
  }
  return items.map((item, i) => {
    const answer = (answered as readonly Readonly<Record<string, ItemBody>>[])[i]?.index;
    if (answer === undefined) throw new SearchRefusal('OpenSearch answered an item with another action than it was asked for');
    const meaning = meaningOfItem(answer.status, answer.error?.type);
    const detail = answer.error === undefined ? '' : describe(answer.error);
    if (meaning === 'pause') throw new SearchRefusal(`OpenSearch refuses writes to ${item.index} with ${answer.status}: ${detail}`);
    return { item, meaning, detail };
  });
}

function describe(error: NonNullable<ItemBody['error']>): string {
  const cause = error.caused_by?.reason === undefined ? '' : ` (${error.caused_by.reason})`;
  return `${error.type ?? 'no type'}: ${error.reason ?? 'no reason'}${cause}`.slice(0, MAX_DETAIL_CHARACTERS);
}
