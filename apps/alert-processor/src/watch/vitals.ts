import type { Check } from '@tailrace/service';
import type { ChannelView } from '../notify/channel-queue.ts';
import { DELIVERY_LIMITS } from '../notify/deliveries.ts';
import type { CanaryTrack } from './canary-track.ts';
import type { SourceView } from './dead-man.ts';
import type { Vital } from './heartbeat.ts';

/** A tick comes every quarter of a second; behind one its states are written, which may take as long as Kafka's own time-out. */
const TICK_MS = 15_000;
const UNHEARD_MS = 30_000;
const CANARY_MS = 30_000;
const UNSENT_MS = 120_000;

/** One check of `/readyz`: the same vitals withhold the heartbeat, so that the two never say different things. */
export function checkOf(vitals: readonly Vital[], well: string, advice: string): (nowMs: number) => Check {
  return (nowMs) => {
    const faults = vitals.flatMap((vital) => vital(nowMs) ?? []);
    // A restart would mend none of them, and another member has no other receivers: there is work to send here all the same.
    return faults.length === 0 ? { state: 'ok', sentence: well } : { state: 'degraded', sentence: `${advice}: ${faults.join('; ')}.` };
  };
}

const seconds = (ms: number): number => Math.round(ms / 1000);

/**
 * That the deciding stage decides, and that Kafka takes what it decided. `lastMs`: of each partition that this process decides about, when that was last
 * so; undefined: never yet.
 */
export function decidesStill(lastMs: () => readonly (number | undefined)[]): Vital {
  return (nowMs) => {
    const all = lastMs();
    if (all.length === 0) return 'this process decides about nothing';
    const waiting = all.filter((last) => last === undefined).length;
    if (waiting > 0) return `${waiting} of ${all.length} partitions are not decided about yet`;
    const longestMs = nowMs - Math.min(...all.map((last) => last ?? 0));
    return longestMs <= TICK_MS ? undefined : `nothing was decided, or written, for ${seconds(longestMs)} s`;
  };
}

/** That every partition of the stream has a reader, who was heard of. */
export function everyPartitionIsRead(sources: () => readonly SourceView[]): Vital {
  return (nowMs) => {
    const unread = sources().filter(({ heardMs }) => heardMs === undefined || nowMs - heardMs > UNHEARD_MS);
    if (unread.length === 0) return undefined;
    return `nobody is heard of who reads the partitions ${unread.map(({ partition }) => partition).join(', ')}`;
  };
}

/** That canaries come round: each partition's was accepted and seen. A process that posts none has nothing to say. */
export function canariesComeRound(track: CanaryTrack): Vital {
  return (nowMs) => {
    const { forMs, reason } = track.failing(nowMs);
    if (forMs > CANARY_MS) return `the gateway does not take canaries (${reason})`;
    const states = track.states(nowMs);
    const unseen = states.filter(({ waitingMs }) => waitingMs > CANARY_MS).map(({ partition }) => partition);
    if (unseen.length > 0) return `canaries do not come back from the partitions ${unseen.join(', ')}`;
    const never = states.filter(({ ageMs }) => ageMs === undefined);
    return never.length === 0 ? undefined : `no canary has come back yet from ${never.length} partitions`;
  };
}

/** A notification that a receiver can not take may be refused twice, when it fires and when it resolves: that says nothing of the channel. */
const UNTOLD = 3;

/** That channels take what they are sent. One that refuses everything lets nothing wait, and yet nobody is told. */
export function channelsTell(view: () => readonly ChannelView[]): Vital {
  return () => {
    const mute = view().filter(({ untold }) => untold >= UNTOLD);
    if (mute.length === 0) return undefined;
    return `nobody is told through ${mute.map(({ channel, untold }) => `${channel} (its last ${untold} notifications were refused or given up)`).join(', ')}`;
  };
}

/** That what was decided leaves the process. A receiver that is down for long withholds the heartbeat: somebody is not told. */
export function queuesMove(view: () => readonly ChannelView[]): Vital {
  return (nowMs) => {
    const stuck = view().filter(({ oldestMs }) => oldestMs !== undefined && nowMs - oldestMs > UNSENT_MS);
    if (stuck.length === 0) return undefined;
    return `notifications wait for ${stuck.map(({ channel, held }) => `${channel} (${held < DELIVERY_LIMITS.held ? held : `${held} or more`})`).join(', ')}`;
  };
}
