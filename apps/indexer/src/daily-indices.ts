import { isoTime } from '@tailrace/kafka-kit';
import { type AliasAction, type Finding, type FoundIndex, judgeIndex } from './index-finding.ts';
import { newCandidateAlias, writeAliasOf } from './index-names.ts';
import { errorOf, NoAnswer, type SearchClient, SearchRefusal } from './search-client.ts';
import { type IndexMeta, type IndexSettings, indexDefinition, indexTemplate } from './template.ts';
import { winningTemplate } from './winning-template.ts';

/** Making an index takes three (missing, a candidate, ours), and a few more when other processes make it too. */
const MAX_LOOKS = 12;
const NO_EXPIRIES: ReadonlyMap<string, number> = new Map();

/**
 * Sees to it that the daily indices are what the indexer writes into: each is looked at before the first write to it, made when it
 * is missing, completed when only aliases or new fields are missing, and otherwise left alone and named as a fault.
 */
export class DailyIndices {
  readonly #client: SearchClient;
  readonly #settings: IndexSettings;
  /** By name, those in order or about to be: what all writers of that day wait for. */
  readonly #open = new Map<string, Promise<void>>();
  /** Those that were written to since the last round. */
  readonly #used = new Set<string>();
  readonly #faults = new Map<string, string>();
  /** Until when an index is kept beyond retention, as this process knows it to be written down. */
  readonly #expiries = new Map<string, number>();

  constructor(client: SearchClient, settings: IndexSettings) {
    this.#client = client;
    this.#settings = settings;
  }

  /** What keeps an index from being written to, in one sentence. */
  get fault(): string | undefined {
    const [first, ...more] = this.#faults.values();
    return more.length === 0 ? first : `${first} And ${more.length} more.`;
  }

  /** Puts the template, so that it is there before the first index. */
  async putTemplate(signal?: AbortSignal): Promise<void> {
    const path = `/_index_template/${this.#settings.name}`;
    await this.#client.demand({ method: 'PUT', path, json: indexTemplate(this.#settings) }, signal);
  }

  /**
   * Resolves when all these indices can be written to, and it is written down of those in `expiries` that they are kept until then (ms), or longer.
   * @throws NoAnswer or SearchRefusal when one can not be now.
   */
  async ensure(names: Iterable<string>, expiries: ReadonlyMap<string, number> = NO_EXPIRIES): Promise<void> {
    await Promise.all(
      Array.from(new Set(names), (name) => {
        const expiresMs = expiries.get(name);
        if (expiresMs === undefined) this.#used.add(name);
        else if (expiresMs > (this.#expiries.get(name) ?? 0)) this.forget(name);
        return this.#open.get(name) ?? this.#remember(name, this.#bring(name, undefined, expiresMs));
      }),
    );
  }

  /** The index is gone, or its write alias is: it is looked at again before the next write. */
  forget(name: string): void {
    this.#open.delete(name);
    this.#expiries.delete(name);
  }

  /**
   * Proves, behind a refusal, that it was not the index's fault. @throws NoAnswer or SearchRefusal when one of these indices is not
   * in order, also when it could be mended by now: what it refused before says nothing about the document.
   */
  async confirm(names: Iterable<string>, expiries: ReadonlyMap<string, number> = NO_EXPIRIES): Promise<void> {
    for (const name of new Set(names)) {
      if ((await this.#look(name, newCandidateAlias(name))).finding.kind === 'ours') continue;
      this.forget(name);
      await this.ensure([name], expiries);
      throw new SearchRefusal(`The index ${name} was not in order and has been mended; what it refused is written again.`);
    }
  }

  /**
   * One round of looks: at `today`'s index, which is made where it is missing, at those that were written to since the last round, and
   * at those with a fault, of `oldest` and later. What is found stands in `fault`.
   */
  async lookAround(today: string, oldest: string, signal?: AbortSignal): Promise<void> {
    const names = new Set([today, ...this.#used, ...this.#faults.keys()].filter((name) => name >= oldest));
    this.#used.clear();
    for (const known of [this.#open, this.#faults]) for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    for (const name of names) {
      const looking = this.#bring(name, signal);
      // Not put in place before it has an answer: what is known to be good need not wait for the look.
      await looking.then(
        () => this.#remember(name, looking),
        (fault: unknown) => {
          // It stands in `fault`, except where there was no answer: nothing new is known then, and a write says so by itself.
          if (!(fault instanceof NoAnswer)) this.forget(name);
        },
      );
    }
  }

  #remember(name: string, bringing: Promise<void>): Promise<void> {
    this.#open.set(name, bringing);
    // A failure must not be remembered. The rejection itself goes to whoever waits.
    bringing.catch(() => {
      if (this.#open.get(name) === bringing) this.#open.delete(name);
    });
    return bringing;
  }

  /** Brings an index in order. */
  async #bring(name: string, signal?: AbortSignal, expiresMs?: number): Promise<void> {
    try {
      await this.#mendUntilOurs(name, signal, expiresMs);
      this.#faults.delete(name);
    } catch (fault) {
      // One beyond retention is no fault of the live index: the partition that waits for it says what is wrong.
      if (!(fault instanceof NoAnswer) && expiresMs === undefined)
        this.#faults.set(name, fault instanceof Error ? fault.message : String(fault));
      throw fault;
    }
  }

  async #mendUntilOurs(name: string, signal?: AbortSignal, expiresMs?: number): Promise<void> {
    const candidate = newCandidateAlias(name);
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      const { finding, meta } = await this.#look(name, candidate, signal);
      if (finding.kind === 'ours') {
        // Seen, not taken for granted: somebody else may have written an earlier one meanwhile.
        const seenMs = Date.parse(String(meta.expires_at));
        if (expiresMs === undefined || seenMs >= expiresMs) {
          if (expiresMs !== undefined) this.#expiries.set(name, seenMs);
          return;
        }
        await this.#setMeta(name, { ...meta, ...expiring(expiresMs) }, signal);
      } else if (finding.kind === 'missing') await this.#create(name, candidate, expiring(expiresMs), signal);
      else if (finding.kind === 'incomplete') await this.#complete(name, finding, signal);
      else {
        await this.#alias(finding.aliases, signal);
        throw new SearchRefusal(
          `Nothing is written to the index ${name}, because ${finding.what}${await this.#blame(name, signal)}: put that right or delete the index, and the indexer goes on by itself.`,
        );
      }
    }
    throw new SearchRefusal(`The index ${name} was changed by somebody else as often as the indexer brought it in order: stop that.`);
  }

  async #look(name: string, candidate: string, signal?: AbortSignal): Promise<{ readonly finding: Finding; readonly meta: IndexMeta }> {
    // Both names: the write alias must stand nowhere else.
    const path = `/${name},${writeAliasOf(name)}`;
    const query = { ignore_unavailable: 'true', flat_settings: 'true' };
    const found = (await this.#client.demand({ method: 'GET', path, query }, signal)) as Readonly<Record<string, FoundIndex>>;
    return { finding: judgeIndex(name, this.#settings.name, candidate, found), meta: found[name]?.mappings?._meta ?? {} };
  }

  /** Without the write alias, which it gets when it was found to be ours: templates of others may have added to it. */
  async #create(name: string, candidate: string, meta: IndexMeta, signal?: AbortSignal): Promise<void> {
    // Somebody may have removed the template since the start.
    await this.putTemplate(signal);
    const json = indexDefinition(this.#settings, { [candidate]: { is_hidden: true } }, meta);
    const { status, body } = await this.#client.request({ method: 'PUT', path: `/${name}`, json }, signal);
    const { type, reason } = errorOf(body);
    if ((status >= 200 && status < 300) || type === 'resource_already_exists_exception') return;
    throw new SearchRefusal(
      `OpenSearch does not make the index ${name}: ${status}: ${type ?? 'no type'}: ${reason ?? 'no reason'}${await this.#blame(name, signal)}.`,
    );
  }

  async #complete(name: string, { fields, aliases }: Extract<Finding, { kind: 'incomplete' }>, signal?: AbortSignal): Promise<void> {
    if (Object.keys(fields).length > 0)
      await this.#client.demand({ method: 'PUT', path: `/${name}/_mapping`, json: { properties: fields } }, signal);
    await this.#alias(aliases, signal);
  }

  async #setMeta(name: string, meta: IndexMeta, signal?: AbortSignal): Promise<void> {
    await this.#client.demand({ method: 'PUT', path: `/${name}/_mapping`, json: { _meta: meta } }, signal);
  }

  async #alias(actions: readonly AliasAction[], signal?: AbortSignal): Promise<void> {
    if (actions.length === 0) return;
    const { status, body } = await this.#client.request({ method: 'POST', path: '/_aliases', json: { actions } }, signal);
    // The index or an alias is gone since the look: nothing was done, and the next look shows what is there now.
    if ((status >= 200 && status < 300) || status === 404) return;
    const { type, reason } = errorOf(body);
    throw new SearchRefusal(`OpenSearch does not set aliases: ${status}: ${type ?? 'no type'}: ${reason ?? 'no reason'}`);
  }

  /** Names the template of somebody else that counts for this index. */
  async #blame(name: string, signal?: AbortSignal): Promise<string> {
    const winner = await winningTemplate(this.#client, name, signal);
    if (winner === undefined || winner.name === this.#settings.name) return '';
    return ` (the index template ${winner.name} with priority ${winner.priority} wins over the indexer’s: take it away or narrow its pattern)`;
  }
}

function expiring(expiresMs: number | undefined): IndexMeta {
  return expiresMs === undefined ? {} : { expires_at: isoTime(expiresMs) };
}
