/** What became of what was posted. `posted` counts events once, however often their post was repeated. */
export interface PostCounts {
  posted: number;
  accepted: number;
  rejected: number;
  /** Posts that were repeated because the gateway did not take them (429, 503) or its answer was lost. */
  repeatedPosts: number;
  /** Events of repeated posts that may be in the log already: they may be two records. */
  maybeTwice: number;
}

/** An event that the gateway refused, or a range of lines whose whole post it refused. `line` counts from 1 in what was posted. */
export interface Rejection {
  readonly line: number;
  readonly reason: string;
}

/** Lines to post, as bytes, and where they stand in their file; without numbers they are samples. */
export interface Batch {
  readonly lines: readonly Buffer[];
  readonly numbers: readonly number[];
}

interface AnswerBody {
  readonly accepted?: number;
  readonly rejected?: number;
  readonly error?: string;
  readonly message?: string;
  readonly errors?: readonly { readonly line: number; readonly field: string | null; readonly reason: string }[];
  readonly withdrawn?: number;
  readonly unknown?: number;
}

const REQUEST_TIMEOUT_MS = 30_000;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 3000;
const READY_LOOK_MS = 50;
/** So many rejections are kept to be named; the others are counted. The gateway itself names at least as many of each post. */
export const NAMED_REJECTIONS = 10;

/** Posts NDJSON to the gateway, and repeats what it did not take until it does. */
export class Poster {
  readonly counts: PostCounts = { posted: 0, accepted: 0, rejected: 0, repeatedPosts: 0, maybeTwice: 0 };
  readonly #gatewayUrl: () => string | undefined;
  readonly #signal: AbortSignal;
  #firstAcceptedMs: number | undefined;
  #rejections: Rejection[] = [];

  /** `gatewayUrl` is asked before each try: a gateway that was started again may have another port. */
  constructor(gatewayUrl: () => string | undefined, signal: AbortSignal) {
    this.#gatewayUrl = gatewayUrl;
    this.#signal = signal;
  }

  /** When the gateway first accepted something; undefined before. */
  get firstAcceptedMs(): number | undefined {
    return this.#firstAcceptedMs;
  }

  /** The first lines that were rejected, in the order of the file. */
  get rejections(): readonly Rejection[] {
    return this.#rejections;
  }

  /** Posts these lines; resolves when the gateway has answered for good, or when the signal has aborted. */
  async post({ lines, numbers }: Batch): Promise<void> {
    const newline = Buffer.from('\n');
    const body = Buffer.concat(lines.flatMap((line) => [line, newline]));
    this.counts.posted += lines.length;
    for (let attempt = 0; !this.#signal.aborted; attempt += 1) {
      if (attempt > 0) this.counts.repeatedPosts += 1;
      const waitMs = await this.#try(body, { lines, numbers }, attempt);
      if (waitMs === undefined) return;
      await pause(waitMs, this.#signal);
    }
  }

  /** One try; undefined when it is answered for good, else how long to wait before the next. */
  async #try(body: Buffer, batch: Batch, attempt: number): Promise<number | undefined> {
    const events = batch.lines.length;
    const backoffMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt);
    const url = this.#gatewayUrl();
    if (url === undefined) return backoffMs;
    let status: number;
    let answer: AnswerBody;
    let retryAfter: string | null;
    try {
      const response = await fetch(`${url}/v1/events`, {
        method: 'POST',
        body: new Uint8Array(body),
        headers: { 'content-type': 'application/x-ndjson' },
        signal: AbortSignal.any([this.#signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
      });
      status = response.status;
      retryAfter = response.headers.get('retry-after');
      answer = (await response.json()) as AnswerBody;
    } catch (error) {
      // The answer was lost: a refused connection kept nothing, anything later may have kept everything.
      if (!wasRefused(error)) this.counts.maybeTwice += events;
      return backoffMs;
    }
    if (status === 429 || status === 503) {
      this.counts.maybeTwice += (answer.accepted ?? 0) + (answer.unknown ?? 0);
      return Math.min(MAX_RETRY_MS, Number(retryAfter ?? 1) * 1000);
    }
    const accepted = answer.accepted ?? 0;
    this.counts.accepted += accepted;
    this.counts.rejected += answer.rejected ?? events - accepted;
    if (accepted < events) this.#keepRejections(status, answer, batch);
    if (accepted > 0) this.#firstAcceptedMs ??= Date.now();
    return undefined;
  }

  #keepRejections(status: number, answer: AnswerBody, { lines, numbers }: Batch): void {
    const [first = 1] = numbers;
    const named: readonly Rejection[] =
      answer.errors === undefined
        ? [{ line: first, reason: `${wholeRefusal(status, answer)} (this line and the ${lines.length - 1} posted with it)` }]
        : // The post's own code is not the reason of any line in it.
          answer.errors.map(({ line, field, reason }) => {
            return { line: numbers[line - 1] ?? line, reason: field === null ? reason : `${field}: ${reason}` };
          });
    // Posts are answered in any order.
    this.#rejections = [...this.#rejections, ...named].sort((a, b) => a.line - b.line).slice(0, NAMED_REJECTIONS);
  }
}

function wholeRefusal(status: number, { error, message }: AnswerBody): string {
  return `${error ?? `status ${status}`}: ${message ?? 'the gateway gave no reason'}`;
}

/** Resolves when the gateway says that it takes posts, or when the signal aborts: posts before that would only be repeated. */
export async function waitUntilReady(gatewayUrl: () => string | undefined, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const url = gatewayUrl();
    if (url !== undefined && (await isReady(url, signal))) return;
    await pause(READY_LOOK_MS, signal);
  }
}

async function isReady(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`, { signal })).ok;
  } catch {
    return false; // Not listening yet, or again; the caller looks once more.
  }
}

function wasRefused(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'ECONNREFUSED';
}

/** Waits `ms`, or until the signal aborts. Never rejects. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
