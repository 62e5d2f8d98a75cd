import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One notification as it came, shortened to what is shown. */
export interface ToldAlert {
  readonly status: 'firing' | 'resolved';
  /** Whether it fired already, and is told once more. */
  readonly again: boolean;
  readonly rule: string;
  readonly group: Readonly<Record<string, string | null>>;
  readonly severity: string;
  readonly summary: string;
  readonly toldMs: number;
  /** From the broker's time of the newest event that was counted until it came here; undefined where no event was (absence). */
  readonly delayMs: number | undefined;
}

const MAX_BODY_BYTES = 256 * 1024;
const MAX_KEYS = 10_000;
/** So many are kept to be shown. */
const KEPT = 100;

/** Receives the notifications of the alert processor for the live view, on loopback: a webhook as anybody can write one. */
export class AlertReceiver {
  readonly #server: Server;
  readonly #nowMs: () => number;
  /** Every notification comes at least once, and with the same key when it comes again. */
  readonly #keys = new Set<string>();
  #told: readonly ToldAlert[] = [];
  #fired = 0;

  private constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  static async start(nowMs: () => number = Date.now): Promise<AlertReceiver> {
    const receiver = new AlertReceiver(nowMs);
    await new Promise<void>((resolve, reject) => {
      receiver.#server.once('error', reject);
      receiver.#server.listen(0, '127.0.0.1', resolve);
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/alerts`;
  }

  /** How many alerts began. */
  get fired(): number {
    return this.#fired;
  }

  /** The latest ones, the newest first. */
  get told(): readonly ToldAlert[] {
    return this.#told;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const text = await bodyOf(request);
      this.#take(JSON.parse(text) as unknown);
      response.writeHead(204).end();
    } catch {
      // Safe: whoever posts is told that it was not taken. It is no notification of this release, or a connection that broke off.
      response.writeHead(400).end();
    }
  }

  #take(body: unknown): void {
    const told = readAlert(body, this.#nowMs());
    if (this.#keys.has(told.key)) return;
    this.#keys.add(told.key);
    const [oldest] = this.#keys;
    if (this.#keys.size > MAX_KEYS && oldest !== undefined) this.#keys.delete(oldest);
    if (told.begins) this.#fired += 1;
    this.#told = [told.alert, ...this.#told].slice(0, KEPT);
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** What a webhook of the alert processor holds, as far as it is shown. */
interface Body {
  readonly key?: unknown;
  readonly status?: unknown;
  readonly rule?: unknown;
  readonly severity?: unknown;
  readonly summary?: unknown;
  readonly group?: unknown;
  readonly evidence?: { readonly broker_time?: unknown } | null;
}

/** @throws Error where it is none */
function readAlert(body: unknown, nowMs: number): { readonly key: string; readonly begins: boolean; readonly alert: ToldAlert } {
  if (typeof body !== 'object' || body === null) throw new Error('no notification');
  const { key, status, rule, severity, summary, group, evidence } = body as Body;
  if (status !== 'firing' && status !== 'resolved') throw new Error('no status');
  const brokerMs = typeof evidence?.broker_time === 'string' ? Date.parse(evidence.broker_time) : Number.NaN;
  const alert: ToldAlert = {
    status,
    again: /\/again-\d+$/.test(text(key)),
    rule: text(rule),
    group: isGroup(group) ? group : {},
    severity: text(severity),
    summary: text(summary),
    toldMs: nowMs,
    delayMs: Number.isNaN(brokerMs) ? undefined : Math.max(0, nowMs - brokerMs),
  };
  // The transition is the last word of the key; one that is told again is the same alert.
  return { key: text(key), begins: text(key).endsWith('/firing'), alert };
}

function text(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new Error('a text is missing');
  return value;
}

function isGroup(value: unknown): value is ToldAlert['group'] {
  return typeof value === 'object' && value !== null && Object.values(value).every((each) => each === null || typeof each === 'string');
}
