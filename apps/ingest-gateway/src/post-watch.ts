import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, backoffMs } from '@tailrace/kafka-kit';
import type { Check, Logger } from '@tailrace/service';
import { type Answer, type AnswerCode, messageOf } from './answers.ts';

export interface PostWatchOptions {
  readonly log: Logger;
  /** Looks for what keeps posts out of Kafka: a sentence that says what to do, or undefined when nothing is seen. */
  findCause(): Promise<string | undefined>;
  /** Ends the looking. */
  readonly signal: AbortSignal;
  readonly backoff?: Backoff;
  readonly nowMs?: () => number;
}

/** After so long without a failure the next one is a new trouble, and is told from the start. */
const QUIET_MS = 60_000;
const LOOK_BACKOFF: Backoff = { firstMs: 1_000, factor: 2, maxMs: 10_000, jitter: 0.5 };

/** A 503 that is no fault: whoever stops a gateway knows it. */
const NO_TROUBLE: ReadonlySet<AnswerCode> = new Set(['stopping']);

interface Trouble {
  /** What came last: a failed post, a look that found nothing, or a kept post. */
  last: 'failed' | 'seen-whole' | 'kept';
  reason: string;
  /** What a look found: it says what to do, so it stands in for the posts' own reasons. */
  cause: string | undefined;
  posts: number;
  beganMs: number;
  lastMs: number;
  /** Whether the log speaks of a failure behind which no kept post was told yet. */
  open: boolean;
}

/**
 * Sees how posts are answered, and says so where people look: in the log when posts get 503, for whatever reason (once, then each time
 * their number has doubled) and when they are kept again, and in the readiness check while the last one failed. A gateway that is not
 * ready gets no posts by which it could see that all is well again, so meanwhile it looks by itself.
 */
export class PostWatch {
  readonly #options: PostWatchOptions;
  readonly #nowMs: () => number;
  #trouble: Trouble | undefined;
  #looking = false;

  constructor(options: PostWatchOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /** Takes the answer of a post; `fault` is what the gateway itself failed by. */
  answered({ code, status, reason }: Answer, fault?: unknown): void {
    if (code === 'accepted' || code === 'partly_accepted') this.#kept();
    else if (status === 503 && !NO_TROUBLE.has(code)) this.#failed(code, reason ?? messageOf(code), fault);
  }

  check(): Check {
    const trouble = this.#trouble;
    if (trouble === undefined) return { state: 'ok', sentence: 'No post was answered with 503 lately.' };
    const reason = sentence(trouble.cause ?? trouble.reason);
    if (trouble.last === 'failed') return { state: 'not-ready', sentence: `The last posts were answered with 503: ${reason}` };
    if (trouble.last === 'seen-whole') {
      return {
        state: 'degraded',
        sentence: `Nothing keeps posts out of Kafka any more, as far as is seen; the last one got 503: ${reason}`,
      };
    }
    if (this.#nowMs() - trouble.lastMs > QUIET_MS) return { state: 'ok', sentence: 'Posts are kept.' };
    return { state: 'degraded', sentence: `Posts are kept; within the last minute one got 503: ${reason}` };
  }

  #failed(code: AnswerCode, reason: string, fault: unknown): void {
    const nowMs = this.#nowMs();
    let trouble = this.#trouble;
    if (trouble === undefined || (trouble.last === 'kept' && nowMs - trouble.lastMs > QUIET_MS)) {
      trouble = { last: 'failed', reason, cause: undefined, posts: 0, beganMs: nowMs, lastMs: nowMs, open: false };
      this.#trouble = trouble;
    }
    if (trouble.last === 'kept') trouble.beganMs = nowMs;
    trouble.last = 'failed';
    trouble.reason = reason;
    trouble.posts += 1;
    trouble.lastMs = nowMs;
    if (isPowerOfTwo(trouble.posts)) {
      trouble.open = true;
      const { posts } = trouble;
      const told = `posts are answered with 503 (${code}, ${posts} so far): ${sentence(trouble.cause ?? reason)}`;
      if (fault === undefined) this.#options.log.warn({ answer: code, posts }, told);
      else this.#options.log.error({ answer: code, posts, err: fault }, told);
    }
    if (!this.#looking) void this.#look(trouble);
  }

  #kept(): void {
    const trouble = this.#trouble;
    if (trouble === undefined || trouble.last === 'kept') return;
    trouble.last = 'kept';
    trouble.cause = undefined;
    if (!trouble.open) return;
    trouble.open = false;
    const seconds = ((this.#nowMs() - trouble.beganMs) / 1000).toFixed(1);
    const { posts } = trouble;
    this.#options.log.info({ posts }, `posts are kept again after ${seconds} s; answered with 503: ${posts}`);
  }

  /** Looks ever more rarely until a look finds nothing or a post is kept. */
  async #look(trouble: Trouble): Promise<void> {
    const { signal, backoff = LOOK_BACKOFF } = this.#options;
    this.#looking = true;
    for (let attempt = 0; trouble === this.#trouble && trouble.last === 'failed' && !signal.aborted; attempt++) {
      const seenPosts = trouble.posts;
      const cause = await this.#cause();
      // What a post has met meanwhile is newer than what was looked at.
      if (trouble.last !== 'failed' || signal.aborted) break;
      if (cause !== undefined && cause !== trouble.cause) this.#options.log.warn(`what keeps posts out of Kafka: ${sentence(cause)}`);
      trouble.cause = cause;
      // The first look comes right behind the failure: only a later one says that it has passed.
      if (cause === undefined && attempt > 0 && trouble.posts === seenPosts) {
        trouble.last = 'seen-whole';
        if (trouble.open) this.#options.log.info('nothing keeps posts out of Kafka any more, as far as is seen; the next post shows it');
        break;
      }
      await sleep(backoffMs(backoff, attempt), undefined, { signal, ref: false }).catch(() => undefined); // Woken by a stop.
    }
    this.#looking = false;
  }

  async #cause(): Promise<string | undefined> {
    try {
      return await this.#options.findCause();
    } catch (fault) {
      return `Kafka can not be asked: ${fault instanceof Error ? fault.message : String(fault)}`;
    }
  }
}

function isPowerOfTwo(count: number): boolean {
  return Number.isInteger(Math.log2(count));
}

/** Reasons come from brokers, clients and tables, with and without a full stop. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
