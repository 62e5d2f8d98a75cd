import { Agent, request } from 'node:http';
import type { Answered } from './fates.ts';

/** One post and its answer. */
export interface PostAnswer {
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly answered: Answered;
  /** Undefined where no answer came. */
  readonly status: number | undefined;
  readonly retryAfter: number | undefined;
  /** The answer's own code, or the fault of the connection. */
  readonly code: string;
}

interface AnswerBody {
  readonly error?: string;
  readonly accepted?: number;
  readonly withdrawn?: number;
}

/** Answers of which the gateway says that nothing of the post is kept. */
const NOT_KEPT: ReadonlySet<string> = new Set(['kafka_unavailable', 'stopping', 'too_busy']);
const TIMEOUT_MS = 40_000;

/** Posts NDJSON to a gateway over connections that are kept, as a client does. */
export class PostClient {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #gatewayUrl: () => string;

  /** `gatewayUrl` is asked before each post. */
  constructor(gatewayUrl: () => string) {
    this.#gatewayUrl = gatewayUrl;
  }

  /** Never rejects: what went wrong is the answer. */
  async post(events: readonly Buffer[]): Promise<PostAnswer> {
    const body = Buffer.concat(events.flatMap((event) => [event, NEWLINE]));
    const sentMs = Date.now();
    try {
      const { status, retryAfter, text } = await this.#send(body);
      const { answered, code } = understand(status, text, events.length);
      return { sentMs, answeredMs: Date.now(), answered, status, retryAfter, code };
    } catch (fault) {
      const code = (fault as NodeJS.ErrnoException).code ?? String(fault);
      // A refused connection carried nothing; whatever breaks later may have been kept.
      const answered = code === 'ECONNREFUSED' ? 'not kept' : 'lost';
      return { sentMs, answeredMs: Date.now(), answered, status: undefined, retryAfter: undefined, code };
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(body: Buffer): Promise<{ status: number; retryAfter: number | undefined; text: string }> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/x-ndjson', 'content-length': body.length };
      const url = `${this.#gatewayUrl()}/v1/events`;
      const sent = request(url, { method: 'POST', agent: this.#agent, headers, timeout: TIMEOUT_MS }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.once('error', reject);
        answer.once('end', () => {
          const after = answer.headers['retry-after'];
          resolve({
            status: answer.statusCode ?? 0,
            retryAfter: after === undefined ? undefined : Number(after),
            text: Buffer.concat(chunks).toString('utf8'),
          });
        });
      });
      sent.once('timeout', () => sent.destroy(new Error('no answer in time')));
      sent.once('error', reject);
      sent.end(body);
    });
  }
}

const NEWLINE = Buffer.from('\n');

/** What an answer says about all the events of its post. Where it says different things of some, all of them are unknown here. */
function understand(status: number, text: string, events: number): { readonly answered: Answered; readonly code: string } {
  let body: AnswerBody;
  try {
    body = JSON.parse(text);
  } catch {
    return { answered: 'unfit', code: `no JSON: ${text.slice(0, 100)}` };
  }
  const code = body.error ?? 'accepted';
  if (status === 200) return { answered: body.accepted === events ? 'accepted' : 'unfit', code };
  if ((status === 503 || status === 429) && NOT_KEPT.has(code)) return { answered: 'not kept', code };
  if (status === 503 && code === 'deadline_passed') return { answered: body.withdrawn === events ? 'not kept' : 'unknown', code };
  return { answered: 'unfit', code: `${status} ${code}` };
}
