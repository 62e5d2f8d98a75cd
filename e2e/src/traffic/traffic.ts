import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { generateEvents } from '@tailrace/events';
import { until } from '../machine/until.ts';
import { Fates } from './fates.ts';
import { type PostAnswer, PostClient } from './post.ts';

export interface TrafficOptions {
  readonly gatewayUrl: () => string;
  readonly seed: number;
  /** The number of its first event; 1 where it is not said. */
  readonly first?: number;
}

const EVENTS_PER_SECOND = 500;
const EVENTS_PER_POST = 25;
const POSTERS = 16;
/** Between two tries of a post that was not answered with success: short, so that it shows soon when the gateway takes posts again. */
const AGAIN_MS = 250;
/** After the stop, a post that is still not answered for good is left with its open fate. */
const GIVE_UP_MS = 180_000;
/** One in so many events is written as no serialiser would, with a field that the pipeline does not know. */
const ODD_EVERY = 20;

/**
 * Posts events with numbers of their own at a steady rate, and keeps what each number was answered. A number whose answer was lost, or
 * of which the gateway does not know, is posted again until it is accepted, as a client does; one that was not kept is left at that, so
 * that it can be looked for.
 */
export class Traffic {
  readonly fates = new Fates();
  readonly answers: PostAnswer[] = [];
  readonly #client: PostClient;
  readonly #events: ReturnType<typeof generateEvents>;
  readonly #stopping = new AbortController();
  readonly #posters: readonly Promise<void>[];
  #next: number;
  #givesUpMs = Number.POSITIVE_INFINITY;
  #nextPostMs = Date.now();

  constructor({ gatewayUrl, seed, first = 1 }: TrafficOptions) {
    this.#next = first;
    this.#client = new PostClient(gatewayUrl);
    this.#events = generateEvents({ seed, nowMs: Date.now });
    setMaxListeners(POSTERS, this.#stopping.signal);
    this.#posters = Array.from({ length: POSTERS }, () => this.#poster());
  }

  /** The first number that it has not posted. */
  get next(): number {
    return this.#next;
  }

  /** Waits until so many more events were accepted. */
  async accepted(more: number, limitMs = 120_000): Promise<void> {
    const wanted = this.fates.counts().accepted + more;
    await until(`${more} more events accepted`, limitMs, () => this.fates.counts().accepted >= wanted);
  }

  /** Takes no new numbers, and resolves when every number that was posted is accepted or known not to be kept. */
  async stop(giveUpMs = GIVE_UP_MS): Promise<void> {
    this.#givesUpMs = Date.now() + giveUpMs;
    this.#stopping.abort();
    await Promise.all(this.#posters);
    this.#client.close();
  }

  async #poster(): Promise<void> {
    for (;;) {
      await this.#turn();
      if (this.#stopping.signal.aborted) return;
      const first = this.#next;
      this.#next += EVENTS_PER_POST;
      const numbers = Array.from({ length: EVENTS_PER_POST }, (_, i) => first + i);
      await this.#post(numbers);
    }
  }

  /** Posters take turns at the rate. What could not be posted in its time is not made up for. */
  async #turn(): Promise<void> {
    const nowMs = Date.now();
    const turnMs = Math.max(this.#nextPostMs, nowMs - AGAIN_MS);
    this.#nextPostMs = turnMs + (EVENTS_PER_POST * 1000) / EVENTS_PER_SECOND;
    // Woken by the stop, which is then seen.
    if (turnMs > nowMs) await delay(turnMs - nowMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  async #post(numbers: readonly number[]): Promise<void> {
    const events = numbers.map((number) => this.#event(number));
    for (;;) {
      const answer = await this.#client.post(events);
      this.answers.push(answer);
      this.fates.tell(numbers, answer.answered);
      if (answer.answered === 'accepted' || answer.answered === 'unfit') return;
      await delay(AGAIN_MS);
      const notKept = this.fates.allowed(numbers[0] ?? 0).most === 0;
      if (notKept || Date.now() > this.#givesUpMs) return;
    }
  }

  #event(number: number): Buffer {
    const event = this.#events.next().value;
    const numbered = { ...event, attributes: { ...event.attributes, n: number } };
    if (number % ODD_EVERY !== 0) return Buffer.from(JSON.stringify(numbered));
    const odd = JSON.stringify({ ...numbered, größe: '½ \u{1f4a7}' }).replace('{', '{ "ratio" : 1.50e1 , ');
    return Buffer.from(odd);
  }
}
