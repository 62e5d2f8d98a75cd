import { type Clock, systemClock } from '../time/clock.ts';
import type { RuntimeEvent } from './runtime-events.ts';
import type { RuntimeHealth } from './runtime-health.ts';
import type { RuntimeLogger } from './runtime-log.ts';
import { SlidingQuantile } from './sliding-quantile.ts';

/** What to do about a loop that is too slow for its group, in this order; the last is what people try first. */
export const SLOW_LOOP_RESPONSE =
  'Reduce the records per poll first; then set a longer interval, which delays the detection of a stuck consumer; then pause and resume. Adding consumers does not help.';

const QUANTILE = 0.99;
/** Behind the limit the member is out of its group already, so its poll interval is told at this share of it. */
const POLL_SHARE = 1 / 3;
/** Rebalances are few. */
const DRAIN_WINDOW_MS = 3_600_000;
const LOOK_MS = 1000;

/**
 * How near a member comes to being put out of its group: 99th percentiles of the time between its polls and of its drains before a
 * revoke, against what the group allows. Give `see` to the runtime as an observer: what goes above its bound is told once.
 */
export class Pace {
  readonly maxPollIntervalMs: number;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #log: Pick<RuntimeLogger, 'warn' | 'info'>;
  readonly #polls: SlidingQuantile;
  readonly #drains = new SlidingQuantile(DRAIN_WINDOW_MS);
  #lookedMs = Number.NEGATIVE_INFINITY;
  #told = false;

  /** `maxPollIntervalMs` as the client has it; it sends the same to the group as the rebalance timeout. */
  constructor(maxPollIntervalMs: number, log: Pick<RuntimeLogger, 'warn' | 'info'>, clock: Pick<Clock, 'nowMs'> = systemClock) {
    this.maxPollIntervalMs = maxPollIntervalMs;
    this.#log = log;
    this.#clock = clock;
    // So long that an interval at the limit is still known when the next one ends.
    this.#polls = new SlidingQuantile(maxPollIntervalMs);
  }

  readonly see = (event: RuntimeEvent): void => {
    const nowMs = this.#clock.nowMs();
    if (event.kind === 'polled') this.#polls.add(event.sinceLastPollMs, nowMs);
    // A stop is no rebalance: no other member waits for it.
    else if (event.kind === 'drained' && event.why === 'revoke') this.#drains.add(event.tookMs, nowMs);
    else return;
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    this.#tell();
  };

  /** Undefined where there was no poll lately. */
  pollP99Ms(): number | undefined {
    return this.#polls.quantile(QUANTILE, this.#clock.nowMs());
  }

  /** Undefined where there was no rebalance lately. */
  drainP99Ms(): number | undefined {
    return this.#drains.quantile(QUANTILE, this.#clock.nowMs());
  }

  health(): RuntimeHealth {
    const finding = this.#finding();
    if (finding !== undefined) return { state: 'degraded', sentence: finding };
    return { state: 'ok', sentence: 'Polls and drains are well within what the group allows.' };
  }

  #tell(): void {
    const finding = this.#finding();
    if ((finding !== undefined) === this.#told) return;
    this.#told = finding !== undefined;
    const fields = { pollP99Ms: this.pollP99Ms(), drainP99Ms: this.drainP99Ms(), maxPollIntervalMs: this.maxPollIntervalMs };
    if (finding === undefined) this.#log.info(fields, 'polls and drains are within what the group allows again');
    else this.#log.warn(fields, finding);
  }

  /** What is above its bound, with the response; undefined when nothing is. */
  #finding(): string | undefined {
    const limitMs = this.maxPollIntervalMs;
    const pollMs = this.pollP99Ms() ?? 0;
    const drainMs = this.drainP99Ms() ?? 0;
    const found: string[] = [];
    if (pollMs > limitMs * POLL_SHARE)
      found.push(`The time between two polls (p99) is ${seconds(pollMs)}, above a third of max.poll.interval.ms (${seconds(limitMs)}).`);
    if (drainMs > limitMs)
      found.push(`The time to drain before a rebalance (p99) is ${seconds(drainMs)}, above the rebalance timeout (${seconds(limitMs)}).`);
    return found.length === 0 ? undefined : [...found, SLOW_LOOP_RESPONSE].join(' ');
  }
}

function seconds(ms: number): string {
  return `${Number((ms / 1000).toPrecision(2))} s`;
}
