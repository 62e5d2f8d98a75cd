import { TAILRACE } from '@tailrace/kafka-kit';
import type { SelfCondition } from '../decide/self-conditions.ts';
import type { CanaryState } from './canary-track.ts';

/** Alerts about tailrace itself; no rule of a file can be called so. */
export const WATCH_RULES = ['tailrace.behind', 'tailrace.blind', 'tailrace.gateway'] as const;
export type WatchRule = (typeof WATCH_RULES)[number];

/** What the deciding stage knows of one partition of the stream. */
export interface SourceView {
  readonly partition: number;
  /** Everything before it is counted; undefined: nothing was ever heard of this partition. */
  readonly watermarkMs: number | undefined;
  /** When its reader was last heard of. */
  readonly heardMs: number | undefined;
  /** Stretches of time that nobody read, the latest ones. */
  readonly blind: readonly (readonly [fromMs: number, toMs: number])[];
}

export interface DeadManOptions {
  readonly stream: string;
  readonly latenessMs: number;
  /** Of the group: how far behind it may be before somebody should look. */
  readonly allowedDelayMs: number;
  /** When this process began to decide: what is not heard of since then is missing. */
  readonly sinceMs: number;
}

/** What is looked at: the partitions of the stream, and, where this process posts them, the canaries. */
export interface Look {
  readonly sources: readonly SourceView[];
  readonly canaries?: { readonly states: readonly CanaryState[]; readonly failing: { readonly forMs: number; readonly reason: string } };
}

interface Finding {
  /** One sentence. */
  readonly summary: string;
  readonly text: string;
  readonly valueMs: number;
  readonly limitMs: number;
  /** A sentence for each thing that is not seen. */
  readonly missing: readonly string[];
}

/** Without a sign of life for so long a partition has no reader: a member that dies is replaced within its session and one rewind. */
const UNHEARD_MS = 30_000;
/** A canary that was accepted comes back within two seconds. */
const UNSEEN_MS = 30_000;
const REFUSED_MS = 30_000;
/** For so long a stretch that nobody read is told, counted from its end. */
const BLIND_TOLD_MS = 600_000;
/** Once it fires, it goes on until the value is below this share of the limit: else what hovers at the limit would be told again and again. */
const END_SHARE = 0.5;
const NAMED = 6;
/** The alert that others can not be trusted must not be forgotten. */
const RENOTIFY_MS = 3_600_000;

const RESPONSES: Readonly<Record<WatchRule, SelfCondition['text']['response']>> = {
  'tailrace.behind': {
    do: `Look at the alert-processor: its CPU, its /readyz, and ${TAILRACE} group lag --group alert-processor. Add a member when it can not keep up; look at the brokers when it waits for them.`,
    doNot:
      'Do not take silence for health, and do not reset the group’s offsets: what is skipped is not counted, and alerts then say so for as long as their windows reach.',
  },
  'tailrace.blind': {
    do: `See which partitions are missing. Without a reader: start the alert-processor again, or look why its members do not get their partitions (/readyz, ${TAILRACE} group lag --group alert-processor). For time that nobody read, look at these minutes in OpenSearch, or run ${TAILRACE} rules backtest over them.`,
    doNot: 'Do not conclude from the absence of alerts that nothing happened in the time that is named.',
  },
  'tailrace.gateway': {
    do: 'Look whether the gateway at ALERT_CANARY_URL runs, what its /readyz says, and whether Kafka takes writes (in-sync replicas, disks). Services that post to it are turned away, too.',
    doNot: 'Do not restart services that post: they hold what was not taken, and must post it again.',
  },
};

const seconds = (ms: number): number => Math.round(ms / 1000);

/**
 * Looks whether alerts can be trusted. Every look says of each rule whether it holds, as far as that is known, also while all is well: that ends an alert. What it finds is told as an alert of its own, and ends like one. It finds nothing out when the whole process
 * is gone: that is what the heartbeat is for.
 */
export class DeadMan {
  readonly #options: DeadManOptions;
  readonly #firing = new Set<WatchRule>();

  constructor(options: DeadManOptions) {
    this.#options = options;
  }

  look({ sources, canaries }: Look, nowMs: number): readonly SelfCondition[] {
    const behind = this.#behind(sources, nowMs);
    return [
      ...(behind === undefined ? [] : [behind]),
      this.#blind(sources, canaries?.states ?? [], nowMs),
      canaries === undefined ? this.#gatewayUnwatched() : this.#gateway(canaries.failing),
    ];
  }

  /**
   * Partitions whose reader is at work, and too far behind. What was heard of them before this process began is as old as its pause was long, so it says
   * neither that one is late nor, to end what an owner before told, that none is: undefined then.
   */
  #behind(sources: readonly SourceView[], nowMs: number): SelfCondition | undefined {
    const { stream, latenessMs, allowedDelayMs, sinceMs } = this.#options;
    const read = sources.filter((source) => this.#unheardMs(source, nowMs) <= UNHEARD_MS);
    const heard = read.filter(({ heardMs }) => heardMs !== undefined && heardMs >= sinceMs);
    const delays = heard.map(({ partition, watermarkMs }) => ({
      partition,
      ms: watermarkMs === undefined ? 0 : nowMs - latenessMs - watermarkMs,
    }));
    const worstMs = Math.max(0, ...delays.map(({ ms }) => ms));
    const holds = this.#holds('tailrace.behind', worstMs, allowedDelayMs);
    if (!holds && heard.length < read.length) return undefined;
    const late = delays.filter(({ ms }) => ms > allowedDelayMs * (holds ? END_SHARE : 1));
    return this.#condition('tailrace.behind', holds, {
      summary: holds
        ? `Alerts are late: ${late.length} of ${sources.length} partitions of ${stream} are counted ${seconds(worstMs)} s behind`
        : `Alerts on ${stream} are in time`,
      text: `counted ${seconds(worstMs)} s behind`,
      valueMs: worstMs,
      limitMs: allowedDelayMs,
      missing: listed(late, ({ partition, ms }) => `partition ${partition} is counted up to ${seconds(ms)} s ago`),
    });
  }

  /** Partitions without a reader, time that nobody read, and canaries that were accepted and do not come back. */
  #blind(sources: readonly SourceView[], canaries: readonly CanaryState[], nowMs: number): SelfCondition {
    const { stream } = this.#options;
    const unheard = sources
      .map((source) => ({ partition: source.partition, ms: this.#unheardMs(source, nowMs) }))
      .filter(({ ms }) => ms > UNHEARD_MS);
    const unseen = canaries.filter(({ waitingMs }) => waitingMs > UNSEEN_MS);
    const unread = sources.flatMap(({ partition, blind }) =>
      blind.filter(([, toMs]) => nowMs - toMs < BLIND_TOLD_MS).map(([fromMs, toMs]) => ({ partition, fromMs, toMs })),
    );
    const worstMs = Math.max(0, ...unheard.map(({ ms }) => ms), ...unseen.map(({ waitingMs }) => waitingMs));
    const blindMs = Math.max(0, ...unread.map(({ fromMs, toMs }) => toMs - fromMs));
    const partitions = new Set([...unheard, ...unseen, ...unread].map(({ partition }) => partition));
    const holds = partitions.size > 0;
    return this.#condition('tailrace.blind', holds, {
      summary: holds
        ? `Alerts do not see everything: ${partitions.size} of ${sources.length} partitions of ${stream} are not read, or were not`
        : `Every partition of ${stream} is read`,
      text: `${partitions.size} of ${sources.length} partitions not read, or not for a time`,
      valueMs: Math.max(worstMs, blindMs),
      limitMs: UNHEARD_MS,
      missing: [
        ...listed(unheard, ({ partition, ms }) => `nobody reads partition ${partition}, for ${seconds(ms)} s`),
        ...listed(
          unseen,
          ({ partition, waitingMs }) =>
            `a canary that was accepted for partition ${partition} did not come back in ${seconds(waitingMs)} s`,
        ),
        ...listed(
          unread,
          ({ partition, fromMs, toMs }) =>
            `nobody read partition ${partition} from ${new Date(fromMs).toISOString()} to ${new Date(toMs).toISOString()}`,
        ),
      ],
    });
  }

  /** The gateway does not take the canaries: it will not take the events of others either. */
  #gateway({ forMs, reason }: { readonly forMs: number; readonly reason: string }): SelfCondition {
    const holds = this.#holds('tailrace.gateway', forMs, REFUSED_MS);
    return this.#condition('tailrace.gateway', holds, {
      summary: holds ? `The gateway has not taken all canaries for ${seconds(forMs)} s: ${reason}` : 'The gateway takes events',
      text: `canaries not taken for ${seconds(forMs)} s`,
      valueMs: forMs,
      limitMs: REFUSED_MS,
      missing: holds ? [`the gateway: ${reason}`] : [],
    });
  }

  /** No canaries are posted (any more): what a process before told of the gateway would go on for ever. */
  #gatewayUnwatched(): SelfCondition {
    const summary = 'The gateway is not watched: no canaries are posted';
    const condition = this.#condition('tailrace.gateway', false, { summary, text: '', valueMs: 0, limitMs: REFUSED_MS, missing: [] });
    const text = 'no canaries are posted any more (ALERT_CANARY_URL is not set)';
    return { ...condition, evidence: { ...condition.evidence, text } };
  }

  #condition(rule: WatchRule, holds: boolean, { summary, text, valueMs, limitMs, missing }: Finding): SelfCondition {
    return {
      rule,
      group: JSON.stringify([this.#options.stream]),
      groupBy: ['stream'],
      holds,
      text: { severity: 'critical', summary, labels: {}, response: RESPONSES[rule] },
      evidence: { text: `${text}, ${seconds(limitMs)} s are allowed`, value: seconds(valueMs), threshold: seconds(limitMs), missing },
      renotifyMs: RENOTIFY_MS,
    };
  }

  /** For how long nothing was heard of a partition; counted from the beginning of this process where nothing ever was. */
  #unheardMs({ heardMs }: SourceView, nowMs: number): number {
    return nowMs - Math.max(heardMs ?? 0, this.#options.sinceMs);
  }

  #holds(rule: WatchRule, valueMs: number, limitMs: number): boolean {
    const holds = valueMs > limitMs * (this.#firing.has(rule) ? END_SHARE : 1);
    if (holds) this.#firing.add(rule);
    else this.#firing.delete(rule);
    return holds;
  }
}

function listed<T>(all: readonly T[], say: (each: T) => string): readonly string[] {
  const more = all.length - NAMED;
  return [...all.slice(0, NAMED).map(say), ...(more > 0 ? [`and ${more} more such partitions`] : [])];
}
