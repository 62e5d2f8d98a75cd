import { readFileSync } from 'node:fs';
import { Client } from '@opensearch-project/opensearch';
import type { ErrorBody } from './bulk-outcomes.ts';

export interface SearchSettings {
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  /** A file of certificate authorities in PEM. */
  readonly caLocation?: string;
}

/** What OpenSearch answered, whatever the status. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** OpenSearch gave no answer: it is away, too slow, or the request was given up. Nothing is known about what it did. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** OpenSearch answered with something that only a person can change. */
export class SearchRefusal extends Error {
  override readonly name = 'SearchRefusal';
}

export interface SearchRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'HEAD';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly json?: object;
  /** Ready newline-delimited JSON. */
  readonly ndjson?: Buffer;
}

const REQUEST_TIMEOUT_MS = 60_000;

/** One OpenSearch. It retries nothing: whoever calls knows what may be repeated and when. */
export class SearchClient {
  readonly #client: Client;

  constructor(settings: SearchSettings) {
    const { username, password } = settings;
    this.#client = new Client({
      node: settings.url,
      ...(username === undefined || password === undefined ? {} : { auth: { username, password } }),
      ...(settings.caLocation === undefined ? {} : { ssl: { ca: readFileSync(settings.caLocation) } }),
      maxRetries: 0,
      requestTimeout: REQUEST_TIMEOUT_MS,
    });
  }

  /** Resolves with the answer, also when it is an error. @throws NoAnswer when there is none. */
  async request(request: SearchRequest, signal?: AbortSignal): Promise<Answer> {
    if (signal?.aborted === true) throw new NoAnswer('the request was given up before it was sent');
    const { method, path, query, json, ndjson } = request;
    const running = this.#client.transport.request({
      method,
      path,
      ...(query === undefined ? {} : { querystring: { ...query } }),
      ...(json === undefined ? {} : { body: json }),
      ...(ndjson === undefined ? {} : { bulkBody: ndjson }),
    });
    const abort = (): void => {
      // Nothing is returned: what `abort` gives can be awaited, and a listener's rejected promise ends the process.
      running.abort();
    };
    signal?.addEventListener('abort', abort, { once: true });
    try {
      const { statusCode, body } = await running;
      return { status: statusCode ?? 0, body };
    } catch (fault) {
      const status = statusOf(fault);
      if (status === undefined) throw new NoAnswer(`OpenSearch gave no answer: ${messageOf(fault)}`, { cause: fault });
      return { status, body: (fault as { readonly body?: unknown }).body };
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** As `request`, for what must succeed. @throws SearchRefusal for any status but 2xx. */
  async demand(request: SearchRequest, signal?: AbortSignal): Promise<unknown> {
    const { status, body } = await this.request(request, signal);
    if (status >= 200 && status < 300) return body;
    const { type, reason } = errorOf(body);
    throw new SearchRefusal(
      `OpenSearch answered ${request.method} ${request.path} with ${status}: ${type ?? 'no type'}: ${reason ?? 'no reason'}`,
    );
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** The error in an answer's body. */
export function errorOf(body: unknown): ErrorBody {
  const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined;
  if (typeof error === 'string') return { reason: error };
  return typeof error === 'object' && error !== null ? error : {};
}

function statusOf(fault: unknown): number | undefined {
  if (!(fault instanceof Error) || fault.name !== 'ResponseError') return undefined;
  return (fault as Error & { readonly statusCode?: number }).statusCode;
}

function messageOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}
