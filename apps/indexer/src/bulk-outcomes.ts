/** What an answer of OpenSearch means for one record. */
export type ItemMeaning =
  /** Durable: `translog.durability: request` fsyncs before the answer. */
  | 'stored'
  /** A fault of the moment in one shard: this record again. */
  | 'retry'
  /** The index of its day is gone, or is another one than ours: bring it in order, then this record again. */
  | 'missing-index'
  /** The document itself is not accepted, where the index has our mapping. */
  | 'refused'
  /** Somebody must act (a block, a full disk, a missing right): the whole batch waits. */
  | 'pause';

/** What an answer means for a whole bulk. `split`: send its halves. `dead`: this one record can never be sent. */
export type RequestMeaning = 'pause' | 'split' | 'dead';

interface Row {
  /** HTTP statuses, from and to. */
  readonly status: readonly [from: number, to: number];
  /** Error types, as OpenSearch names them; any when absent. */
  readonly types?: readonly string[];
  readonly why: string;
}

interface ItemRow extends Row {
  readonly meaning: ItemMeaning;
}

interface RequestRow extends Row {
  readonly meaning: RequestMeaning;
  /** Only for a body that is by itself above the limit that the answer names: another try can never pass, a smaller body can. */
  readonly overLimit?: true;
  /** What it means for a bulk of one record, which can not be split. */
  readonly alone: Exclude<RequestMeaning, 'split'>;
}

/** The answer to one item of a bulk. The first row that fits counts; the last one fits everything. */
export const itemRows: readonly ItemRow[] = [
  { status: [200, 201], meaning: 'stored', why: 'written, or written again over itself' },
  {
    status: [404, 404],
    types: ['index_not_found_exception'],
    meaning: 'missing-index',
    why: 'somebody deleted the index after we made it, or took its write alias away',
  },
  {
    status: [400, 400],
    types: ['mapper_parsing_exception', 'illegal_argument_exception', 'strict_dynamic_mapping_exception'],
    meaning: 'refused',
    why: 'a field of the wrong type, a term that is too long, nesting that is too deep',
  },
  { status: [409, 409], meaning: 'retry', why: 'another write of the same record was quicker by a moment' },
  { status: [429, 429], types: ['cluster_block_exception'], meaning: 'pause', why: 'the disk is full: it does not pass by itself' },
  { status: [429, 429], meaning: 'retry', why: 'the write queue of a node is full' },
  { status: [500, 599], meaning: 'retry', why: 'a shard is not available at the moment' },
  // Also a closed index (400) and a write block (403): never take somebody's switch for bad data.
  { status: [100, 599], meaning: 'pause', why: 'nothing that a record can be blamed for' },
];

/** The answer to a bulk as a whole. */
export const requestRows: readonly RequestRow[] = [
  { status: [413, 413], meaning: 'split', alone: 'dead', why: 'the body is larger than the server takes' },
  { status: [400, 400], meaning: 'split', alone: 'dead', why: 'the server could not read the body: one record spoils it for all' },
  { status: [429, 429], overLimit: true, meaning: 'split', alone: 'pause', why: 'the body alone is above the memory limit' },
  { status: [100, 599], meaning: 'pause', alone: 'pause', why: 'overloaded, no rights, not ready, a proxy in between' },
];

/** An error as OpenSearch describes it, as far as it says something here. */
export interface ErrorBody {
  readonly type?: string;
  readonly reason?: string;
  readonly bytes_limit?: number;
}

function fits(row: Row, status: number, type: string | undefined): boolean {
  return status >= row.status[0] && status <= row.status[1] && (row.types === undefined || row.types.includes(type ?? ''));
}

/** Whether a body of `bodyBytes` is by itself above the limit that a refusal for want of memory names. */
function isOverLimit(error: ErrorBody, bodyBytes: number): boolean {
  const [, operation, limit] =
    /coordinating_operation_bytes=(\d+), max_coordinating_and_primary_bytes=(\d+)/.exec(error.reason ?? '') ?? [];
  if (operation !== undefined) return Number(operation) > Number(limit);
  return error.bytes_limit !== undefined && bodyBytes > error.bytes_limit;
}

/** What the answer to one item means. */
export function meaningOfItem(status: number, type: string | undefined): ItemMeaning {
  // The first row, without the search: it is what is asked for every good document.
  if (status === 200 || status === 201) return 'stored';
  return itemRows.find((row) => fits(row, status, type))?.meaning ?? 'pause';
}

/** What an answer other than 200 means for a bulk of so many records and bytes. */
export function meaningOfRequest(status: number, error: ErrorBody, records: number, bodyBytes: number): RequestMeaning {
  const row = requestRows.find((r) => fits(r, status, error.type) && (r.overLimit !== true || isOverLimit(error, bodyBytes)));
  return (records > 1 ? row?.meaning : row?.alone) ?? 'pause';
}
