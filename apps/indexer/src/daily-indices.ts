import { errorOf, type SearchClient, SearchRefusal } from './search-client.ts';
import { type IndexSettings, indexTemplate } from './template.ts';

const DAY_MS = 86_400_000;

/** The first millisecond of the UTC day that holds a time. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS) * DAY_MS;
}

/** `<name>-YYYY.MM.DD` for a day in UTC. */
export function indexOfDay(name: string, dayMs: number): string {
  return `${name}-${new Date(dayMs).toISOString().slice(0, 10).replaceAll('-', '.')}`;
}

/** The earliest day that is indexed: a record of an older one is beyond retention. */
export function firstDayKept(nowMs: number, retentionDays: number): number {
  return dayOf(nowMs) - retentionDays * DAY_MS;
}

/** Makes the daily indices, each before the first write to it, and remembers which are there. */
export class DailyIndices {
  readonly #client: SearchClient;
  readonly #settings: IndexSettings;
  /** By name: the making, which all writers of that day wait for. */
  readonly #made = new Map<string, Promise<void>>();

  constructor(client: SearchClient, settings: IndexSettings) {
    this.#client = client;
    this.#settings = settings;
  }

  /** Puts the template, so that it is there before the first index. */
  async putTemplate(signal?: AbortSignal): Promise<void> {
    const path = `/_index_template/${this.#settings.name}`;
    await this.#client.demand({ method: 'PUT', path, json: indexTemplate(this.#settings) }, signal);
  }

  /** Resolves when all these indices are there. @throws NoAnswer or SearchRefusal when one can not be made now. */
  async ensure(names: Iterable<string>): Promise<void> {
    await Promise.all(Array.from(new Set(names), (name) => this.#ensureOne(name)));
  }

  /** The index is gone: it is made again before the next write. */
  forget(name: string): void {
    this.#made.delete(name);
  }

  #ensureOne(name: string): Promise<void> {
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    const making = this.#make(name);
    this.#made.set(name, making);
    // A failed making must not be remembered. The rejection itself goes to whoever waits.
    making.catch(() => {
      if (this.#made.get(name) === making) this.#made.delete(name);
    });
    return making;
  }

  async #make(name: string): Promise<void> {
    // Somebody may have removed the template since the start, and an index without it would guess its mapping.
    await this.putTemplate();
    const { status, body } = await this.#client.request({ method: 'PUT', path: `/${name}` });
    const { type, reason } = errorOf(body);
    if ((status >= 200 && status < 300) || type === 'resource_already_exists_exception') return;
    throw new SearchRefusal(`OpenSearch did not make the index ${name}: ${status}: ${type ?? 'no type'}: ${reason ?? 'no reason'}`);
  }
}
