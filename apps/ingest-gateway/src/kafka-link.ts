import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs, ContractError, DEFAULT_BACKOFF, type OutgoingRecord, type Published, type Publisher } from '@tailrace/kafka-kit';
import type { Check, Logger } from '@tailrace/service';
import type { AnswerCode } from './answers.ts';

export interface LinkSteps {
  /** Rejects while the cluster can not be reached, and soon after the signal. */
  connect(signal: AbortSignal): Promise<Publisher>;
  /** Rejects with ContractError when the topics are not as declared, otherwise while the cluster can not be reached. */
  checkTopics(): Promise<void>;
}

type State =
  | { readonly kind: 'opening'; readonly publisher: Publisher | undefined; readonly lastFault: string | undefined }
  | { readonly kind: 'open'; readonly publisher: Publisher };

/**
 * The gateway's way to Kafka. It takes posts only once Kafka was reached and the topics were found as declared; until then, and
 * whenever Kafka is away later, posts are answered with 503 at once, so a gateway that starts during an outage is no closed port.
 */
export class KafkaLink {
  readonly maxInFlightBytes: number;
  readonly #steps: LinkSteps;
  readonly #log: Logger;
  readonly #kafka: string;
  #state: State = { kind: 'opening', publisher: undefined, lastFault: undefined };
  #opening: Promise<void> = Promise.resolve();

  /** `at`: the brokers' addresses, for those who read why nothing is taken. */
  constructor(steps: LinkSteps, options: { readonly at: string; readonly maxInFlightBytes: number; readonly log: Logger }) {
    this.#steps = steps;
    this.#log = options.log;
    this.#kafka = `Kafka at ${options.at}`;
    this.maxInFlightBytes = options.maxInFlightBytes;
  }

  /** Tries for as long as it takes, or until the signal. @throws ContractError when the topics are not as declared. */
  open(signal: AbortSignal): Promise<void> {
    const opening = this.#open(signal);
    this.#opening = opening.catch(() => undefined); // Its failure goes to the caller.
    return opening;
  }

  async #open(signal: AbortSignal): Promise<void> {
    let lastFault: string | undefined;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const publisher = this.#state.publisher ?? (await this.#steps.connect(signal));
        this.#state = { kind: 'opening', publisher, lastFault };
        await unlessStopped(this.#steps.checkTopics(), signal);
        this.#state = { kind: 'open', publisher };
        return;
      } catch (fault) {
        if (fault instanceof ContractError) throw fault;
        if (signal.aborted) return; // The stop ended the attempt: that is no outage.
        // An outage: it is told here and in the readiness check, and tried again.
        lastFault = fault instanceof Error ? fault.message : String(fault);
        this.#state = { kind: 'opening', publisher: this.#state.publisher, lastFault };
        this.#log.warn({ attempt }, `${this.#kafka} can not be reached yet: ${lastFault}`);
        await sleep(backoffMs(DEFAULT_BACKOFF, attempt), undefined, { signal }).catch(() => undefined); // Woken by a stop.
      }
    }
  }

  get inFlightBytes(): number {
    return this.#state.publisher?.inFlightBytes ?? 0;
  }

  closedBecause(): AnswerCode | undefined {
    return this.#state.kind === 'open' && this.#state.publisher.reachable ? undefined : 'kafka_unavailable';
  }

  check(): Check {
    if (this.#state.kind === 'opening') {
      const { lastFault } = this.#state;
      return { state: 'not-ready', sentence: `${this.#kafka} was not reached yet${lastFault === undefined ? '.' : `: ${lastFault}`}` };
    }
    return this.#state.publisher.reachable
      ? { state: 'ok', sentence: `${this.#kafka} answers.` }
      : { state: 'not-ready', sentence: `${this.#kafka} does not answer; posts are refused with 503 until it does.` };
  }

  async publish(records: readonly OutgoingRecord[], options: { readonly deadlineMs: number }): Promise<readonly Published[]> {
    const { publisher } = this.#state;
    if (publisher === undefined) return records.map(() => ({ kind: 'withdrawn', reason: 'Kafka was not reached yet' }));
    return publisher.publish(records, options);
  }

  /** After the signal. Waits until the attempt to connect that is under way was given up: exit() would wait for it too. */
  async close(limitMs: number): Promise<void> {
    const begunMs = performance.now();
    await this.#opening;
    await this.#state.publisher?.close(Math.max(0, limitMs - (performance.now() - begunMs)));
  }
}

/** The step, or a rejection at the stop: a look at the topics may wait for a broker for longer than a stop may take. */
async function unlessStopped(step: Promise<void>, signal: AbortSignal): Promise<void> {
  let stopped: (() => void) | undefined;
  const stop = new Promise<never>((_, reject) => {
    stopped = () => reject(new Error('the gateway is stopping'));
    if (signal.aborted) stopped();
    else signal.addEventListener('abort', stopped);
  });
  try {
    await Promise.race([step, stop]);
  } finally {
    if (stopped !== undefined) signal.removeEventListener('abort', stopped);
  }
}
