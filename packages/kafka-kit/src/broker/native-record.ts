import type { Headers, RawRecord, TopicPartition } from '../records.ts';

/** A message as the client hands it over. */
export interface NativeMessage extends TopicPartition {
  readonly offset: number;
  readonly timestamp?: number | undefined;
  readonly key?: Buffer | string | null | undefined;
  readonly value: Buffer | null;
  readonly headers?: readonly NativeHeader[] | undefined;
}

/** An object of one key. A header that is called `__proto__` became the object's prototype instead. */
type NativeHeader = Readonly<Record<string, string | Buffer>>;

const NO_HEADERS: readonly NativeHeader[] = [];

/** Takes one poll's messages. Neighbours with the same headers share one list of them: most records of a topic do. */
export function toRecords(messages: readonly NativeMessage[]): RawRecord[] {
  const records: RawRecord[] = [];
  let last: readonly NativeHeader[] | undefined;
  let headers: Headers = [];
  let headerBytes = 0;
  for (const { topic, partition, offset, timestamp = -1, key = null, value, headers: raw = NO_HEADERS } of messages) {
    if (last === undefined || !sameHeaders(raw, last)) {
      last = raw;
      headers = raw.map(toHeader);
      headerBytes = headers.reduce((sum, [name, bytes]) => sum + name.length + (bytes?.length ?? 0), 0);
    }
    records.push({
      topic,
      partition,
      offset,
      timestampMs: timestamp,
      key: typeof key === 'string' ? Buffer.from(key) : key,
      value,
      headers,
      headerBytes,
    });
  }
  return records;
}

function toHeader(header: NativeHeader): readonly [string, Buffer] {
  for (const name in header) {
    if (Object.hasOwn(header, name)) return [name, toBytes(header[name] ?? '')];
  }
  return ['__proto__', toBytes(Object.getPrototypeOf(header) as string | Buffer)];
}

function toBytes(value: string | Buffer): Buffer {
  return typeof value === 'string' ? Buffer.from(value) : value;
}

/** Says no where in doubt: then the headers are only read anew. */
function sameHeaders(some: readonly NativeHeader[], others: readonly NativeHeader[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i += 1) {
    const [one, other] = [some[i], others[i]];
    if (one === undefined || other === undefined || !sameHeader(one, other)) return false;
  }
  return true;
}

function sameHeader(one: NativeHeader, other: NativeHeader): boolean {
  for (const name in one) {
    if (!Object.hasOwn(one, name) || !Object.hasOwn(other, name)) return false;
    return sameBytes(one[name], other[name]);
  }
  return false;
}

function sameBytes(one: string | Buffer | undefined, other: string | Buffer | undefined): boolean {
  if (!Buffer.isBuffer(one) || !Buffer.isBuffer(other)) return one === other;
  if (one.length !== other.length) return false;
  // Header values are a few bytes, for which a loop costs less than a call into the engine.
  for (let i = 0; i < one.length; i += 1) if (one[i] !== other[i]) return false;
  return true;
}
