import { CANARY_SERVICE } from '@tailrace/events';
import { type Clock, reasonsOf } from '@tailrace/kafka-kit';
import { type HttpPost, postJson } from '../notify/http-post.ts';
import { CanaryCustomers } from './canary-customers.ts';
import type { CanaryAnswer, CanaryTrack } from './canary-track.ts';
import { Rounds } from './rounds.ts';

export interface CanaryOptions {
  /** The gateway. */
  readonly url: URL;
  /** How often each partition gets a canary. */
  readonly everyMs: number;
}

export interface CanaryPorts {
  readonly clock: Clock;
  readonly track: CanaryTrack;
  /** How many partitions the stream has; undefined while it is not known. */
  readonly partitions: () => number | undefined;
  /** Whether this process decides about a group of the canary rule. */
  readonly decidesHere: (group: string) => boolean;
  /** Told of each round, with how many canaries it had. */
  readonly answered: (answer: CanaryAnswer, canaries: number) => void;
  /** Told when a fault appears or becomes another one, and with `undefined` when all is well again. */
  readonly onChange: (fault: string | undefined) => void;
  readonly post?: (post: HttpPost) => ReturnType<typeof postJson>;
}

/** Longer than the gateway's own deadline (10 s): its answer says more than our giving up. */
const POST_MS = 15_000;
const REASON_CHARACTERS = 200;

/**
 * Posts one canary to each partition of the stream, round by round, as one NDJSON body through the real gateway. What the gateway does not take is
 * no fault of this process: it is told once, and the next round tries again.
 */
export class CanaryPoster {
  readonly #options: CanaryOptions;
  readonly #ports: CanaryPorts;
  readonly #rounds: Rounds;
  #customers: CanaryCustomers | undefined;
  #sequence = 0;
  #said: string | undefined;

  constructor(options: CanaryOptions, ports: CanaryPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#rounds = new Rounds(ports.clock, options.everyMs, (signal) => this.#round(signal));
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  async #round(stopping: AbortSignal): Promise<void> {
    const customers = this.#customersNow();
    const { track, clock } = this.#ports;
    track.keep(new Set(customers.keys()));
    if (customers.size === 0) return;
    const nowMs = clock.nowMs();
    this.#sequence += 1;
    const body = [...customers.values()].map((customer) => canaryLine(customer, nowMs, this.#sequence)).join('');
    track.posted(nowMs);
    const answer = await this.#post(body, stopping);
    // A post that was cut off by the stop says nothing about the gateway.
    if (stopping.aborted) return;
    track.answered([...customers.keys()], answer, clock.nowMs());
    this.#ports.answered(answer, customers.size);
    const fault = answer.kind === 'failed' ? answer.reason : undefined;
    if (fault === this.#said) return;
    this.#said = fault;
    this.#ports.onChange(fault);
  }

  /** The customer of each partition that has one. */
  #customersNow(): ReadonlyMap<number, string> {
    const found = new Map<number, string>();
    const partitions = this.#ports.partitions();
    if (partitions === undefined) return found;
    if (this.#customers?.partitions !== partitions) this.#customers = new CanaryCustomers(partitions);
    for (let partition = 0; partition < partitions; partition++) {
      const customer = this.#customers.of(partition, this.#ports.decidesHere);
      // One partition finds none: then nothing is decided here, and no other one will find any.
      if (customer === undefined) return new Map();
      found.set(partition, customer);
    }
    return found;
  }

  async #post(body: string, stopping: AbortSignal): Promise<CanaryAnswer> {
    const { post = postJson } = this.#ports;
    const url = new URL(`${this.#options.url.href.replace(/\/+$/, '')}/v1/events`);
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(POST_MS)]);
    try {
      const headers = { 'content-type': 'application/x-ndjson' };
      // The gateway is named by who runs this process, and stands in a private network as a rule.
      const { status, text } = await post({ url, body, headers, allowPrivate: true, signal });
      return status === 200 ? { kind: 'accepted' } : { kind: 'failed', reason: refusal(status, text) };
    } catch (fault) {
      return { kind: 'failed', reason: `no answer (${reasonsOf(fault)})` };
    }
  }
}

function canaryLine(customer: string, nowMs: number, sequence: number): string {
  const event = { timestamp: new Date(nowMs).toISOString(), customer_id: customer, service: CANARY_SERVICE, attributes: { sequence } };
  return `${JSON.stringify(event)}\n`;
}

/** The gateway's own words, without numbers that change from round to round: a fault that stays is told once. */
function refusal(status: number, text: string): string {
  let code: unknown;
  try {
    ({ error: code } = JSON.parse(text) as { readonly error?: unknown });
  } catch {
    // Safe: no answer of the gateway's own; its text is shown.
  }
  const words = typeof code === 'string' ? code : text.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
  return `it answered ${status}${words === '' ? '' : `: ${words.slice(0, REASON_CHARACTERS)}`}`;
}
