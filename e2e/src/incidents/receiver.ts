import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** What a webhook told, as far as it is looked at here. */
export interface Told {
  readonly key: string;
  readonly incident: string;
  readonly status: 'firing' | 'resolved';
  readonly rule: string;
  readonly group: Readonly<Record<string, string | null>>;
  readonly startedMs: number;
  readonly decidedMs: number;
  readonly summary: string;
  /** What was measured in the window that decided, and of how many events. */
  readonly value: number | null;
  readonly events: number;
  readonly missing: readonly string[];
  readonly completeUpToMs: number | undefined;
  /** When Kafka had the latest event that was counted. */
  readonly brokerMs: number | undefined;
}

/** Alerts of tailrace about itself. */
const OWN = 'tailrace.';

/** What is posted, as docs/reference/webhook.schema.json has it. */
interface Posted extends Pick<Told, 'key' | 'incident' | 'status' | 'rule' | 'group' | 'summary'> {
  readonly started_at: string;
  readonly decided_at: string;
  readonly evidence: Pick<Told, 'value' | 'events' | 'missing'> & {
    readonly complete_up_to: string | null;
    readonly broker_time: string | null;
  };
}

function toldBy({ key, incident, status, rule, group, summary, evidence, ...times }: Posted): Told {
  const { value, events, missing, complete_up_to: completeUpTo, broker_time: broker } = evidence;
  return {
    key,
    incident,
    status,
    rule,
    group,
    summary,
    startedMs: Date.parse(times.started_at),
    decidedMs: Date.parse(times.decided_at),
    value,
    events,
    missing,
    completeUpToMs: completeUpTo === null ? undefined : Date.parse(completeUpTo),
    brokerMs: broker === null ? undefined : Date.parse(broker),
  };
}

/** How it answers: well, at once or after a while; by a status; with no answer; with what no HTTP client understands; by ending the connection. */
export type Manner = 'well' | 'silent' | 'garbage' | 'hangs-up' | { readonly status: number } | { readonly afterMs: number };

/** A notifiers file that has these receivers as its channels. */
export function notifiersText(receivers: Readonly<Record<string, AlertReceiver>>): string {
  const lines = Object.entries(receivers).map(
    ([name, { url }]) => `  - {name: ${name}, kind: webhook, url: "${url}", allow_private: true}\n`,
  );
  return `notifiers:\n${lines.join('')}`;
}

/** The other end of a webhook: keeps what came, by idempotency key, as a receiver does that tells each key once. */
export class AlertReceiver {
  /** The first of each key that was answered with success, in the order in which they came. */
  readonly told = new Map<string, Told & { readonly cameMs: number }>();
  /** How often each key came, answered well or not. */
  readonly tries = new Map<string, number>();
  /** How often each key was answered with success. */
  readonly accepted = new Map<string, number>();
  /** Same key, other words: which must not be. */
  readonly changed: string[] = [];
  manner: Manner = 'well';
  /** Done once, while the next notification waits for its answer. */
  beforeAnswer: (() => Promise<void>) | undefined;
  readonly #server: Server;
  readonly #port: number;

  private constructor(server: Server) {
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  static async start(): Promise<AlertReceiver> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const receiver = new AlertReceiver(server);
    server.on('request', (asked, answer) => {
      // A sender that is killed in the middle breaks its request: it comes again under its key.
      receiver.#take(asked, answer).catch(() => answer.destroy());
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/alerts`;
  }

  /** A notifiers file that has this receiver as its only channel. */
  get notifiersText(): string {
    return notifiersText({ receiver: this });
  }

  /** Refuses connections until it comes back. */
  goAway(): Promise<void> {
    return this.close();
  }

  /** Listens where it was. */
  comeBack(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #take(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of asked) chunks.push(chunk as Buffer);
    const told = toldBy(JSON.parse(Buffer.concat(chunks).toString('utf8')));
    const key = String(asked.headers['idempotency-key']);
    this.tries.set(key, (this.tries.get(key) ?? 0) + 1);
    const { manner, beforeAnswer } = this;
    this.beforeAnswer = undefined;
    await beforeAnswer?.();
    if (manner === 'silent') return;
    if (manner === 'hangs-up' || manner === 'garbage') {
      if (manner === 'garbage') asked.socket.write('\u0000\u0001 no HTTP at all\n\n');
      asked.socket.destroy();
      return;
    }
    if (typeof manner === 'object' && 'afterMs' in manner) await delay(manner.afterMs);
    else if (typeof manner === 'object') {
      answer.writeHead(manner.status, manner.status === 429 ? { 'retry-after': '1' } : {}).end('no');
      return;
    }
    const before = this.told.get(key);
    if (before === undefined) this.told.set(key, { ...told, cameMs: Date.now() });
    else if (before.summary !== told.summary || before.startedMs !== told.startedMs) this.changed.push(key);
    this.accepted.set(key, (this.accepted.get(key) ?? 0) + 1);
    answer.writeHead(200).end('ok');
  }
}

/** What a receiver was told of the rules of the file, in order. */
export function lines({ told }: AlertReceiver): string[] {
  return [...told.values()]
    .filter(({ rule }) => !rule.startsWith(OWN))
    .map(({ rule, group, status }) => `${rule} ${Object.values(group).join(' ')}: ${status}`);
}
