import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type Lookup, literalFault, publicLookup } from './address-guard.ts';
import { oneLine } from './alert-text.ts';
import type { SendOutcome } from './notifier.ts';

export interface HttpPost {
  readonly url: URL;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly allowPrivate: boolean;
  readonly signal: AbortSignal;
  /** The system's, but in tests. */
  readonly lookup?: Lookup;
}

/** `text`: the beginning of the answer's body, to tell people why. */
export interface HttpAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

const ANSWER_BYTES = 4096;
const ANSWER_MS = 2000;

/**
 * Posts JSON once, on a connection of its own, follows no redirect, and reads the answer's body up to a bound of bytes and time: an endless body
 * holds nothing. Rejects on every fault of the network, on an answer that is no HTTP, and soon after the signal aborts.
 */
export function postJson(post: HttpPost): Promise<HttpAnswer> {
  const { url, body, headers, allowPrivate, signal, lookup } = post;
  const literal = allowPrivate ? undefined : literalFault(url.hostname);
  if (literal !== undefined) return Promise.reject(literal);
  const bytes = Buffer.from(body);
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      agent: false,
      signal,
      headers: { 'content-type': 'application/json', 'user-agent': 'tailrace', ...headers, 'content-length': bytes.length },
      ...(allowPrivate ? (lookup === undefined ? {} : { lookup: anyLookup(lookup) }) : { lookup: publicLookup(lookup) }),
    });
    request.on('error', reject);
    // An upgrade that nobody asked for takes the socket away from the request, which would then end by nothing, not even by the signal.
    request.on('upgrade', ({ statusCode: status = 0 }, socket) => {
      socket.destroy();
      resolve({ status, retryAfter: undefined, text: '' });
    });
    const unanswered = (): void => reject(new Error('the connection ended without an answer'));
    // Whatever else becomes of it: a request that is over is settled.
    request.on('close', unanswered);
    request.on('response', (response) => {
      // From here on the status is the answer, also when the signal aborts while the body is read.
      request
        .off('close', unanswered)
        .off('error', reject)
        .on('error', () => {});
      readAnswer(request, response).then(resolve, reject);
    });
    request.end(bytes);
  });
}

function anyLookup(lookup: Lookup): ReturnType<typeof publicLookup> {
  return (hostname, _options, callback) => lookup(hostname, { all: true }, (error, addresses) => callback(error, addresses));
}

/** The status says what became of the post, so that a body which breaks off or never ends changes nothing about it. */
function readAnswer(request: ClientRequest, response: IncomingMessage): Promise<HttpAnswer> {
  const { statusCode: status = 0, headers } = response;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (): void => {
      clearTimeout(timer);
      request.destroy();
      resolve({ status, retryAfter: headers['retry-after'], text: Buffer.concat(chunks).subarray(0, ANSWER_BYTES).toString() });
    };
    const timer = setTimeout(end, ANSWER_MS);
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= ANSWER_BYTES) end();
    });
    response.on('end', end);
    response.on('close', end);
    response.on('error', end);
  });
}

/**
 * Besides every 5xx: faults of the moment that have a status of their own, and a credential that is not accepted, which says nothing of the notification: it
 * is mended, and what waited goes.
 */
const RETRIED = new Set([401, 403, 407, 408, 425, 429]);

/** What an HTTP answer says of the notification. */
export function outcomeOf({ status, retryAfter, text }: HttpAnswer, nowMs: number): SendOutcome {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  if (status >= 300 && status < 400)
    return { kind: 'refused', reason: `answered ${status}: redirects are not followed, set the URL that it leads to` };
  const words = oneLine(text);
  const reason = `answered ${status}${words === '' ? '' : `: ${words}`}`;
  // An answer below 200 is none.
  if (status >= 200 && status < 500 && !RETRIED.has(status)) return { kind: 'refused', reason };
  const afterMs = retryAfterMs(retryAfter, nowMs);
  return { kind: 'retry', reason, ...(afterMs === undefined ? {} : { afterMs }) };
}

/** `Retry-After` in seconds or as a date (RFC 9110, 10.2.3); undefined: none, or none that can be read. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** One try over HTTP, as a notifier answers it. */
export async function sendOverHttp(post: HttpPost, nowMs: () => number): Promise<SendOutcome> {
  try {
    return outcomeOf(await postJson(post), nowMs());
  } catch (error) {
    return { kind: 'retry', reason: networkReason(error) };
  }
}

function networkReason(error: unknown): string {
  // Several addresses were tried (happy eyeballs): each has its own error, the whole has no message.
  const one = error instanceof AggregateError ? error.errors[0] : error;
  return one instanceof Error ? one.message : String(one);
}
