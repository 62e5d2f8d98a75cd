import type { BulkBody } from './bulk-body.ts';
import { type ItemMeaning, meaningOfItem, meaningOfRequest } from './bulk-outcomes.ts';
import { errorOf, type SearchClient, SearchRefusal } from './search-client.ts';

/** Told what became of each item. `dead`: no server takes it, even by itself. */
export type OnAnswer = (item: number, meaning: Exclude<ItemMeaning, 'pause'> | 'dead', detail: string) => void;

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
 * Sends a bulk in bodies of at most `maxBytes` (a single larger item goes alone) and tells what became of each item, in order.
 * @throws NoAnswer or SearchRefusal when this batch can not be written now, whatever its records are.
 */
export async function sendBulk(
  client: SearchClient,
  bulk: BulkBody,
  maxBytes: number,
  signal: AbortSignal,
  onAnswer: OnAnswer,
): Promise<void> {
  for (let from = 0; from < bulk.length; ) {
    const start = bulk.end(from - 1);
    let to = from + 1;
    while (to < bulk.length && bulk.end(to) - start <= maxBytes) to++;
    await sendRange(client, bulk, from, to, signal, onAnswer);
    from = to;
  }
}

async function sendRange(
  client: SearchClient,
  bulk: BulkBody,
  from: number,
  to: number,
  signal: AbortSignal,
  onAnswer: OnAnswer,
): Promise<void> {
  const ndjson = bulk.bytes(from, to);
  // Through aliases only: a name that is no alias is refused, and never makes an index.
  const query = { filter_path: FILTER_PATH, timeout: SHARD_TIMEOUT, require_alias: 'true' };
  const { status, body } = await client.request({ method: 'POST', path: '/_bulk', query, ndjson }, signal);
  if (status === 200) {
    tellAnswers(bulk, from, to, body, onAnswer);
    return;
  }
  const error = errorOf(body);
  const detail = `OpenSearch answered the bulk with ${status}: ${error.type ?? 'no type'}: ${(error.reason ?? 'no reason').slice(0, MAX_DETAIL_CHARACTERS)}`;
  const meaning = meaningOfRequest(status, error, to - from, ndjson.length);
  if (meaning === 'pause') throw new SearchRefusal(detail);
  if (meaning === 'dead') {
    for (let item = from; item < to; item++) onAnswer(item, meaning, detail);
    return;
  }
  const middle = from + Math.floor((to - from) / 2);
  await sendRange(client, bulk, from, middle, signal, onAnswer);
  await sendRange(client, bulk, middle, to, signal, onAnswer);
}

/** @throws SearchRefusal when the answer does not fit the request, or when an item's answer stops the whole batch. */
function tellAnswers(bulk: BulkBody, from: number, to: number, body: unknown, onAnswer: OnAnswer): void {
  const { items } = body as { readonly items?: readonly { readonly index?: ItemBody }[] };
  if (!Array.isArray(items) || items.length !== to - from) {
    throw new SearchRefusal(`OpenSearch answered ${items?.length ?? 'no'} items for ${to - from} records`);
  }
  for (let i = 0; i < items.length; i++) {
    const answer = (items as readonly { readonly index?: ItemBody }[])[i]?.index;
    if (answer === undefined) throw new SearchRefusal('OpenSearch answered an item with another action than it was asked for');
    const meaning = meaningOfItem(answer.status, answer.error?.type);
    const detail = answer.error === undefined ? '' : describe(answer.error);
    if (meaning === 'pause')
      throw new SearchRefusal(`OpenSearch refuses writes to ${bulk.index(from + i)} with ${answer.status}: ${detail}`);
    onAnswer(from + i, meaning, detail);
  }
}

function describe(error: NonNullable<ItemBody['error']>): string {
  const cause = error.caused_by?.reason === undefined ? '' : ` (${error.caused_by.reason})`;
  return `${error.type ?? 'no type'}: ${error.reason ?? 'no reason'}${cause}`.slice(0, MAX_DETAIL_CHARACTERS);
}
