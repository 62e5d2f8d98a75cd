import { type Clock, type Registered, registerMetrics, type SetGauge } from '@tailrace/kafka-kit';
import type { Check, Logger, Metrics } from '@tailrace/service';
import type { SelfCondition } from '../decide/self-conditions.ts';
import type { Message } from '../messages/message.ts';
import type { ChannelView } from '../notify/channel-queue.ts';
import { CanaryPoster } from './canary.ts';
import { CANARY_RULE } from './canary-rule.ts';
import { CanaryTrack } from './canary-track.ts';
import { DeadMan, type SourceView } from './dead-man.ts';
import { Heartbeat } from './heartbeat.ts';
import { canariesComeRound, channelsTell, checkOf, decidesStill, everyPartitionIsRead, queuesMove } from './vitals.ts';
import { WATCH_METRICS } from './watch-metrics.ts';

/** What the deciding stage of this process can be asked and told. */
export interface DecidingStage {
  /** How many partitions the stream has; undefined while it is not known. */
  streamPartitions(): number | undefined;
  /** The partitions of `alert-partials` that this process decides about, those that are not ready yet among them. */
  owned(): readonly number[];
  /** Whether this process decides about a group of a rule now, and is ready to. */
  decides(rule: string, group: string): boolean;
  /** What is known of each partition of the stream; undefined while this process decides nothing. */
  sources(): readonly SourceView[] | undefined;
  /** Tells whether a condition holds, to the decider of its group; ignored where another process decides about it. */
  condition(condition: SelfCondition, nowMs: number): void;
}

export interface WatchOptions {
  readonly stream: string;
  readonly latenessMs: number;
  readonly allowedDelayMs: number;
  readonly canary: { readonly url: URL; readonly everyMs: number } | undefined;
  readonly heartbeatUrl: URL | undefined;
}

export interface WatchPorts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly deciding: DecidingStage;
  readonly channels: () => readonly ChannelView[];
}

/** How often it is looked whether alerts can be trusted. */
const LOOK_MS = 1000;

/** Watches the alert processor itself: by canaries, by what it knows of its own lateness, and by a heartbeat for the case that it is gone. */
export class Watch {
  readonly #options: WatchOptions;
  readonly #ports: WatchPorts;
  readonly #track = new CanaryTrack();
  readonly #figures: Registered<typeof WATCH_METRICS>;
  readonly #poster: CanaryPoster | undefined;
  readonly #heartbeat: Heartbeat | undefined;
  readonly #checks: Readonly<Record<'alerts' | 'channels', (nowMs: number) => Check>>;
  #deadMan: DeadMan | undefined;
  /** Of each decider the latest canary of each partition of the stream that it has taken in since its last tick. */
  readonly #takenIn = new Map<number, Map<number, number>>();
  /** When each decider last ticked. */
  readonly #tickedMs = new Map<number, number>();
  /** As they were at the last look but for what is not decided yet: each decider has ticked since. */
  #sources: readonly SourceView[] = [];
  /** Those of the last look, and which deciders have ticked since. */
  #looked: { readonly sources: readonly SourceView[]; readonly ticked: Set<number> } | undefined;
  #lookedMs = 0;

  constructor(options: WatchOptions, ports: WatchPorts) {
    const { clock, log, deciding, channels } = ports;
    this.#options = options;
    this.#ports = ports;
    this.#figures = registerMetrics(ports.metrics, WATCH_METRICS, {
      canaryAge: (set) => this.#setAges(set),
      countedBehind: (set) => this.#setBehind(set),
      readerHeard: (set) => this.#setHeard(set),
    });
    const tell = (fault: string | undefined, well: string) => (fault === undefined ? log.info(well) : log.error(fault));
    this.#poster =
      options.canary === undefined
        ? undefined
        : new CanaryPoster(options.canary, {
            clock,
            track: this.#track,
            partitions: () => deciding.streamPartitions(),
            decidesHere: (group) => deciding.decides(CANARY_RULE, group),
            answered: ({ kind }, canaries) => this.#figures.canaries.inc({ outcome: kind }, canaries),
            onChange: (fault) =>
              tell(fault === undefined ? undefined : `the gateway does not take all canaries: ${fault}`, 'the gateway takes canaries'),
          });
    const canaries = this.#poster === undefined ? [] : [canariesComeRound(this.#track)];
    const decides = [
      decidesStill(() => deciding.owned().map((partition) => this.#tickedMs.get(partition))),
      everyPartitionIsRead(() => this.#sources),
      ...canaries,
    ];
    const tells = [queuesMove(channels), channelsTell(channels)];
    this.#checks = {
      alerts: checkOf(decides, 'Everything is counted and decided upon.', 'Alerts can not be told from here now'),
      channels: checkOf(tells, 'Every channel takes what it is sent.', 'Mend the notifier or its receiver'),
    };
    this.#heartbeat =
      options.heartbeatUrl === undefined
        ? undefined
        : new Heartbeat(options.heartbeatUrl, {
            clock,
            vitals: [...decides, ...tells],
            beat: (outcome) => this.#figures.heartbeats.inc({ outcome }),
            onChange: (fault) => tell(fault, 'the heartbeat is sent'),
          });
  }

  /** The decider of this partition of `alert-partials` has taken a message in. */
  accepted(decider: number, message: Message): void {
    if (message.kind !== 'cells') return;
    for (const { rule, source, eventMs } of message.cells) {
      if (rule.name !== CANARY_RULE) continue;
      const taken = this.#takenIn.get(decider) ?? new Map<number, number>();
      this.#takenIn.set(decider, taken);
      if (eventMs > (taken.get(source.partition) ?? 0)) taken.set(source.partition, eventMs);
    }
  }

  /** The decider of this partition has decided upon everything that it had taken in, and Kafka has taken what came of it. */
  ticked(decider: number): void {
    const nowMs = this.#ports.clock.nowMs();
    this.#tickedMs.set(decider, nowMs);
    for (const [partition, eventMs] of this.#takenIn.get(decider) ?? []) {
      const roundTripMs = this.#track.saw(partition, eventMs, nowMs);
      if (roundTripMs !== undefined) this.#figures.canaryRoundTrip.observe(Math.max(0, roundTripMs) / 1000);
    }
    this.#takenIn.delete(decider);
    this.#settle(decider);
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    this.#look(nowMs);
  }

  /** Whether alerts can be told now, from here: what the heartbeat goes by. */
  check(what: 'alerts' | 'channels'): Check {
    return this.#checks[what](this.#ports.clock.nowMs());
  }

  async stop(): Promise<void> {
    await Promise.all([this.#poster?.stop(), this.#heartbeat?.stop()]);
  }

  #look(nowMs: number): void {
    const { deciding } = this.#ports;
    const sources = deciding.sources();
    if (sources === undefined) {
      this.#sources = [];
      this.#looked = undefined;
      // Another member decides; what was not heard of meanwhile is no fault when this one begins again.
      this.#deadMan = undefined;
      return;
    }
    this.#looked ??= { sources, ticked: new Set() };
    const { stream, latenessMs, allowedDelayMs } = this.#options;
    this.#deadMan ??= new DeadMan({ stream, latenessMs, allowedDelayMs, sinceMs: nowMs });
    const canaries =
      this.#poster === undefined ? {} : { canaries: { states: this.#track.states(nowMs), failing: this.#track.failing(nowMs) } };
    for (const condition of this.#deadMan.look({ sources, ...canaries }, nowMs)) deciding.condition(condition, nowMs);
  }

  /** What was heard at the last look is decided upon once every decider has ticked behind it. */
  #settle(decider: number): void {
    if (this.#looked === undefined) return;
    this.#looked.ticked.add(decider);
    if (!this.#ports.deciding.owned().every((owned) => this.#looked?.ticked.has(owned))) return;
    this.#sources = this.#looked.sources;
    this.#looked = undefined;
  }

  #setHeard(set: SetGauge<'partition'>): void {
    const nowMs = this.#ports.clock.nowMs();
    for (const { partition, heardMs } of this.#sources) if (heardMs !== undefined) set({ partition }, Math.max(0, nowMs - heardMs) / 1000);
  }

  #setBehind(set: SetGauge<'partition'>): void {
    const nowMs = this.#ports.clock.nowMs();
    for (const { partition, watermarkMs } of this.#sources)
      if (watermarkMs !== undefined) set({ partition }, Math.max(0, nowMs - this.#options.latenessMs - watermarkMs) / 1000);
  }

  #setAges(set: SetGauge<'partition'>): void {
    for (const { partition, ageMs } of this.#track.states(this.#ports.clock.nowMs()))
      if (ageMs !== undefined) set({ partition }, ageMs / 1000);
  }
}
