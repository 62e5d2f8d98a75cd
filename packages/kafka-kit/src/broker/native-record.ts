import type { Headers, RawRecord, TopicPartition } from '../records.ts';

/** A message as the client hands it over. */
export interface NativeMessage extends TopicPartition {
  readonly offset: number;
  readonly timestamp?: number | undefined;
  readonly key?: Buffer | string | null | undefined;
  readonly value: Buffer | null;
  readonly headers?: readonly Readonly<Record<string, string | Buffer>>[] | undefined;
}

/** A view of the client's message; headers are converted only when somebody reads them. */
export class NativeRecord implements RawRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly #raw: NativeMessage['headers'];
  #headers: Headers | undefined;

  constructor(message: NativeMessage) {
    this.topic = message.topic;
    this.partition = message.partition;
    this.offset = message.offset;
    this.timestampMs = message.timestamp ?? -1;
    this.key = typeof message.key === 'string' ? Buffer.from(message.key) : (message.key ?? null);
    this.value = message.value;
    this.#raw = message.headers;
  }

  get headers(): Headers {
    this.#headers ??= (this.#raw ?? []).map(nativeHeader);
    return this.#headers;
  }

  get headerBytes(): number {
    let bytes = 0;
    // Without converting them: this is asked for every record.
    for (const header of this.#raw ?? []) {
      for (const name in header) if (Object.hasOwn(header, name)) bytes += name.length + (header[name]?.length ?? 0);
    }
    return bytes;
  }
}

/** Each header is an object of one key. One that is called `__proto__` became the object's prototype instead. */
function nativeHeader(header: Readonly<Record<string, string | Buffer>>): readonly [string, Buffer] {
  // Not by Object.entries: this is done for every header of every record.
  for (const name in header) {
    if (Object.hasOwn(header, name)) return [name, headerBytes(header[name] ?? '')];
  }
  return ['__proto__', headerBytes(Object.getPrototypeOf(header) as string | Buffer)];
}

function headerBytes(value: string | Buffer): Buffer {
  return typeof value === 'string' ? Buffer.from(value) : value;
}
