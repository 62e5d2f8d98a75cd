import type { ListedObject, ObjectStore } from '../object-store.ts';

/** A store in memory with put-if-absent, only for property tests of the protocol. `before` runs ahead of each request: to delay it or to fail it. */
export class MemoryStore implements ObjectStore {
  readonly name = 'memory';
  readonly objects: Map<string, Buffer>;
  readonly #before: (operation: string, key: string) => Promise<void>;
  readonly #after: (operation: string, key: string) => Promise<void>;

  constructor(
    before: (operation: string, key: string) => Promise<void> = async () => {},
    after: (operation: string, key: string) => Promise<void> = async () => {},
    /** Those of another store, where several clients of one are told apart by what fails for them. */
    objects = new Map<string, Buffer>(),
  ) {
    this.objects = objects;
    this.#before = before;
    this.#after = after;
  }

  async putIfAbsent(key: string, body: Buffer): Promise<'created' | 'exists'> {
    await this.#before('put', key);
    const there = this.objects.has(key);
    if (!there) this.objects.set(key, Buffer.from(body));
    await this.#after('put', key);
    return there ? 'exists' : 'created';
  }

  async get(key: string): Promise<Buffer | undefined> {
    await this.#before('get', key);
    return this.objects.get(key);
  }

  async getRange(key: string, start: number, end: number): Promise<Buffer | undefined> {
    await this.#before('get', key);
    return this.objects.get(key)?.subarray(start, end);
  }

  async sizeBytes(key: string): Promise<number | undefined> {
    await this.#before('head', key);
    return this.objects.get(key)?.length;
  }

  async *list(prefix: string, options: { readonly startAfter?: string } = {}): AsyncIterable<ListedObject> {
    await this.#before('list', prefix);
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > (options.startAfter ?? '')).sort();
    for (const key of keys) yield { key, sizeBytes: this.objects.get(key)?.length ?? 0 };
  }

  async delete(key: string): Promise<void> {
    await this.#before('delete', key);
    this.objects.delete(key);
  }
}
